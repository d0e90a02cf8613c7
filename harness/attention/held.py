"""Held: keep torch's attention to one kernel for the length of a call, and hear why it refuses."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from harness.attention.backend import Call, Unsupported
from harness.attention.reasons import one_line

KERNELS = ("flash", "mem_efficient", "math", "cudnn")
# How torch says that a kernel it was held to cannot run.
REFUSALS = (
    "No available kernel",
    "No viable backend",
    "cuDNN Frontend error",
    "No valid execution",
)


def held(call: Call, *, kernel: str) -> Call:
    """Return the call with every other kernel switched off while it runs.

    Does what `sdpa_kernel([...])` does, through the same public switches: that context manager
    costs 21 µs a call (measured, torch 2.13), these a µs. The switches are global and backends
    take turns, so they are set around each call and put back.
    """
    changes = [
        (switch, name == kernel) for name, switch in _switches() if _on(name) != (name == kernel)
    ]

    def held_call() -> Any:
        for switch, wanted in changes:
            switch(wanted)
        try:
            return call()
        except (RuntimeError, UserWarning) as error:
            if not isinstance(error, UserWarning) and not str(error).startswith(REFUSALS):
                raise
            reason = refusal(call, error)
        finally:
            for switch, wanted in changes:
                switch(not wanted)
        raise Unsupported(reason)

    return held_call


def _switches() -> list[tuple[str, Callable[[bool], None]]]:
    import torch

    return [(name, getattr(torch.backends.cuda, f"enable_{name}_sdp")) for name in KERNELS]


def _on(name: str) -> bool:
    import torch

    enabled: bool = getattr(torch.backends.cuda, f"{name}_sdp_enabled")()
    return enabled


def refusal(call: Call, error: Exception) -> str:
    """Ask again and listen: torch says why it refuses a kernel in warnings only."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            call()
        except RuntimeError as again:
            error = again
    texts = [one_line(str(item.message)) for item in heard]
    told = [text for text in texts if "not used because" not in text and "disabled" not in text]
    return told[0] if told else f"torch refuses: {one_line(str(error).partition('. ')[0])}"
