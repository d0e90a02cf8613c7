"""Guard: what a backend must not change or leave behind, found out and undone."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import torch

from harness.measure.clock import Call
from harness.measure.device import Device
from harness.measure.outcome import Misconduct

WORDS = {
    "threads": "the number of threads",
    "dtype": "the default dtype",
    "gradients": "the grad mode",
    "precision": "the precision of float32 products",
    "deterministic": "the use of deterministic algorithms",
    "device": "the default device",
    "random": "the state of the random generator",
}
TASKS = Path("/proc/self/task")
# What Python and torch keep for themselves between two looks stays below this (measured: 0 to
# 200 kB over a visit of 12 backends).
SUSPICIOUS_BYTES = 2**20
# Of one call; two calls in a row must both keep so much.
LEAK_BYTES = 1024
CALLS = 2
MALLINFO_FIELDS = (
    *("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks"),
    *("fordblks", "keepcost"),
)


class Switches(NamedTuple):
    """Torch's global state that costs next to nothing to read: looked at after every sample."""

    threads: int
    dtype: torch.dtype
    gradients: bool


class Settings(NamedTuple):
    """The rest of torch's global state, looked at around the checks of a backend."""

    precision: str
    deterministic: bool
    device: torch.device
    random: bytes


def read_switches() -> Switches:
    """Read the cheap half, in about 1 us."""
    return Switches(torch.get_num_threads(), torch.get_default_dtype(), torch.is_grad_enabled())


def read_settings() -> Settings:
    """Read the other half, in some 10 us."""
    return Settings(
        torch.get_float32_matmul_precision(),
        torch.are_deterministic_algorithms_enabled(),
        torch.get_default_device(),
        torch.get_rng_state().numpy().tobytes(),
    )


def put_back(switches: Switches, settings: Settings) -> None:
    """Restore all of it."""
    torch.set_num_threads(switches.threads)
    torch.set_default_dtype(switches.dtype)
    torch.set_grad_enabled(switches.gradients)
    torch.set_float32_matmul_precision(settings.precision)
    torch.use_deterministic_algorithms(settings.deterministic)
    torch.set_default_device(settings.device if settings.device.type != "cpu" else None)
    torch.set_rng_state(torch.frombuffer(bytearray(settings.random), dtype=torch.uint8))


def tensors_of(value: Any, name: str = "") -> Iterator[tuple[str, torch.Tensor]]:
    """Yield (name, tensor) for every tensor in a nest of dataclasses and containers."""
    if isinstance(value, torch.Tensor):
        yield name, value
        return
    if is_dataclass(value) and not isinstance(value, type):
        parts = [(field.name, getattr(value, field.name)) for field in fields(value)]
    elif isinstance(value, Mapping):
        parts = [(str(key), item) for key, item in value.items()]
    elif isinstance(value, (list, tuple)):
        parts = [(f"{name} {number}".strip(), item) for number, item in enumerate(value)]
    else:
        return
    for part, item in parts:
        yield from tensors_of(item, part)


class Guard:
    """Hold how everything was before a visit, with a copy of the inputs.

    Each check raises Misconduct with the reason, after it has put things back.
    """

    def __init__(self, inputs: Any) -> None:
        self.tensors = [(name, tensor.detach()) for name, tensor in tensors_of(inputs)]
        self.copies = [tensor.clone() for _, tensor in self.tensors]
        self.switches, self.settings = read_switches(), read_settings()
        self.versions = self._versions()
        self.python_threads = set(threading.enumerate())

    def allow_drawing(self) -> None:
        """Take the state of the random generator as it is now."""
        self.settings = self.settings._replace(random=read_settings().random)

    def glance(self) -> None:
        """Check what costs next to nothing: switches and torch's own count of writes."""
        seen = read_switches()
        if seen != self.switches:
            self._changed(self.switches, seen)
        if self._versions() != self.versions:
            self.inspect_inputs()

    def inspect(self, *, may_start_threads: bool = False) -> None:
        """Check everything: writes that bypass torch show in the values alone."""
        self.glance()
        settings = read_settings()
        if settings != self.settings:
            self._changed(self.settings, settings)
        self.inspect_inputs()
        if not may_start_threads:
            self.inspect_threads()

    def inspect_inputs(self) -> None:
        """Compare the inputs with their copies, bit for bit but for the sign of a zero."""
        changed = [
            name
            for (name, tensor), copy in zip(self.tensors, self.copies, strict=True)
            if not torch.equal(tensor, copy)
        ]
        if changed:
            self._restore_inputs()
            raise Misconduct(f"it changes its inputs: {', '.join(changed)}")
        self.versions = self._versions()

    def inspect_threads(self) -> None:
        """Look for threads that a call left running: they would take time from the others."""
        left = [one for one in threading.enumerate() if one not in self.python_threads]
        if left:
            names = ", ".join(sorted(one.name for one in left)[:3])
            raise Misconduct(f"it leaves {len(left)} thread(s) running: {names}", sticky=True)

    def _versions(self) -> list[int]:
        return [tensor._version for _, tensor in self.tensors]

    def _restore_inputs(self) -> None:
        with torch.no_grad():
            for (_, tensor), copy in zip(self.tensors, self.copies, strict=True):
                tensor.copy_(copy)
        self.versions = self._versions()

    def _changed(self, before: Any, after: Any) -> None:
        put_back(self.switches, self.settings)
        pairs = zip(before._fields, before, after, strict=True)
        changes = [_change(name, old, new) for name, old, new in pairs if old != new]
        raise Misconduct(f"it changes torch's global state: {', '.join(changes)}")


def _change(name: str, old: Any, new: Any) -> str:
    if isinstance(old, bytes):
        return WORDS[name]
    return f"{WORDS[name]} from {old} to {new}"


def system_threads() -> int:
    """Count this process's threads, also those that Python does not know; 0 if unknown."""
    try:
        return len(os.listdir(TASKS))
    except OSError:
        return 0


class _MallInfo(ctypes.Structure):
    """Struct mallinfo2 of glibc 2.33 and later (man 3 mallinfo)."""

    _fields_ = [(name, ctypes.c_size_t) for name in MALLINFO_FIELDS]


@cache
def _mallinfo() -> Callable[[], _MallInfo] | None:
    try:
        function = ctypes.CDLL(None).mallinfo2
    except (OSError, AttributeError):
        return None
    function.restype = _MallInfo
    return function


def bytes_in_use(device: Device) -> int:
    """Return the bytes that the process holds of the device's memory; 0 where it cannot tell.

    On the host it is what malloc has given out and not got back, whoever asked for it; the
    resident size would not do, since freed pages are kept on purpose.
    """
    if device.asynchronous:
        return int(device.memory_allocated())  # type: ignore[attr-defined]
    read = _mallinfo()
    if read is None:
        return 0
    seen = read()
    return int(seen.uordblks + seen.hblkhd)


def inspect_growth(call: Call, device: Device) -> None:
    """Make two calls; Misconduct if each leaves more memory in use, or more threads, behind."""
    kept, started = [], []
    for _ in range(CALLS):
        memory, threads = bytes_in_use(device), system_threads()
        call()
        device.synchronize()
        kept.append(bytes_in_use(device) - memory)
        started.append(system_threads() - threads)
    if min(started) > 0:
        raise Misconduct(f"every call leaves {min(started)} thread(s) running", sticky=True)
    if min(kept) >= LEAK_BYTES:
        raise Misconduct(f"every call keeps {min(kept):,} bytes for good", sticky=True)
