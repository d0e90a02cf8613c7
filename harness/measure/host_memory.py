"""Host memory: what may still be taken, a cell that would not fit, a bound on this process."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from harness.attention.backend import Backend
from harness.cases.case import Case

try:
    import resource
except ImportError:  # Windows has no limits of this kind; the parent still watches.
    resource = None  # type: ignore[assignment]

ROOT = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")
# An unlimited group of version 1 shows the largest page-aligned integer.
UNLIMITED = 2**60
STATUS = Path("/proc/self/status")
OOM_SCORE = Path("/proc/self/oom_score_adj")
# The last tenth of the free memory is for the page cache and for what the estimate leaves out.
USABLE_SHARE = 0.9


def available_memory() -> int:
    """Return the host bytes that may still be taken: the system's, or the container's if less."""
    limit = memory_limit()
    free = int(psutil.virtual_memory().available)
    return min(free, limit.headroom_bytes) if limit else free


@dataclass(frozen=True)
class Limit:
    """The tightest limit found, and what may still be taken under it; both in bytes."""

    limit_bytes: int
    headroom_bytes: int


def memory_limit(root: Path = ROOT, membership: Path = MEMBERSHIP) -> Limit | None:
    """Return the limit with the least headroom among the group and its parents, or None.

    Reads version 2 (memory.max) and version 1 (memory.limit_in_bytes). Cached file pages count as
    free, since the kernel drops them before it refuses memory.
    """
    limits = [found for folder in _folders(root, membership) if (found := _limit(folder))]
    return min(limits, key=lambda found: found.headroom_bytes, default=None)


def _folders(root: Path, membership: Path) -> list[Path]:
    """Return the folders of this process's memory group and of every parent."""
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return []
    found: list[Path] = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        base = root / "memory" if controllers else root
        # Inside a container the path may be the host's: its tail is absent, the root is not.
        parts = Path(path.lstrip("/"))
        found += [base / parts, *(base / parent for parent in parts.parents)]
    return found


def _limit(folder: Path) -> Limit | None:
    newer = _number(folder / "memory.max"), _number(folder / "memory.current")
    older = _number(folder / "memory.limit_in_bytes"), _number(folder / "memory.usage_in_bytes")
    limit, used = newer if newer[0] is not None else older
    if limit is None or used is None or limit >= UNLIMITED:
        return None
    return Limit(limit, max(0, limit - used + _reclaimable(folder / "memory.stat")))


def _number(file: Path) -> int | None:
    try:
        text = file.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None


def _reclaimable(file: Path) -> int:
    try:
        pairs = dict(line.split() for line in file.read_text().splitlines())
    except (OSError, ValueError):
        return 0
    return int(pairs.get("total_inactive_file", pairs.get("inactive_file", 0)))


def own_bytes(name: str) -> int | None:
    """Return one of Linux's counts of this process's memory, e.g. VmHWM; None elsewhere."""
    try:
        status = STATUS.read_text(errors="replace")
    except OSError:
        return None
    found = re.search(rf"^{name}:\s*(\d+) kB", status, re.MULTILINE)
    return int(found[1]) * 1024 if found else None


class TooLarge(MemoryError):
    """Said of a cell that was not tried, since its memory would not fit."""


def wanted_bytes(backend: Backend, case: Case) -> int:
    """Estimate the peak of a call above its inputs: output, score matrices, mask.

    A backward adds the gradients of the output and of the inputs, and what its forward saved:
    inputs in a layout or scale of its own and, where a backend keeps them, the weights. The
    `backward` phase keeps one forward's from call to call, which is in its peak already.
    """
    mask = 0
    if case.mask not in ("full", "causal"):
        mask = case.batch * case.length_query * case.length_key * case.itemsize
    if case.phase == "forward":
        return round(case.output_bytes() + backend.score_matrices * case.score_bytes() + mask)
    matrices = backend.score_matrices_training * case.score_bytes()
    return round(2 * (case.output_bytes() + case.input_bytes()) + matrices + mask)


def refuse(wanted: int, *, device: str, limit: int | None) -> None:
    """Raise TooLarge if `wanted` bytes are more than the limit or, on the host, than is free.

    A chip says by itself that its memory is full; Linux kills the process instead.
    """
    room = limit
    if device == "cpu":
        free = int(available_memory() * USABLE_SHARE)
        room = free if limit is None else min(free, limit)
    if room is not None and wanted > room:
        raise TooLarge(f"wants {wanted:,} bytes, {room:,} are available")


def bound_memory(extra_bytes: int, device: str) -> None:
    """Let this process's data grow by so many bytes; a call that wants more gets MemoryError.

    Should the system run out of memory first, Linux ends this process before any other. On CUDA
    nothing is bounded: the driver maps far more than it uses, and the chip has its own memory.
    """
    with suppress(OSError):
        OOM_SCORE.write_text("1000")
    used = data_bytes()
    if resource is None or used is None or device != "cpu":
        return
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = used + extra_bytes
    resource.setrlimit(resource.RLIMIT_DATA, (wanted if hard < 0 else min(wanted, hard), hard))


def data_bytes() -> int | None:
    """Return the bytes of private writable memory, as RLIMIT_DATA counts (man 2 getrlimit)."""
    return own_bytes("VmData")
