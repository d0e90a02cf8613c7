"""The one place that turns an exception of a measured call into a status and a sentence.

Only text is kept: a stored exception holds the frames it passed through, and those hold tensors.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from harness.records.record import Status

LONGEST_REASON = 240
# A CPU allocation failure is a plain RuntimeError (c10/core/impl/alloc_cpu.cpp); the libraries'
# own workspaces fail with their own status names.
OUT_OF_MEMORY = re.compile(
    r"DefaultCPUAllocator: (can't allocate|not enough) memory"
    r"|CUDA out of memory|CUDA error: out of memory|CU(DNN|BLAS)_STATUS_ALLOC_FAILED"
)
TRIED_BYTES = re.compile(r"tried to allocate (\d+) bytes")
# Errors after which "the process must be terminated and relaunched" (CUDA runtime API, cudaError).
STICKY = re.compile(
    r"illegal memory access|device-side assert|unspecified launch failure|misaligned address"
    r"|illegal instruction|invalid program counter|invalid address space|hardware stack error"
    r"|launch timed out|uncorrectable|cudaErrorAssert",
    re.IGNORECASE,
)


class Misconduct(Exception):
    """Said of a backend that harms others; `sticky` if only a fresh process makes up for it."""

    def __init__(self, reason: str, *, sticky: bool = False) -> None:
        super().__init__(reason)
        self.sticky = sticky


@dataclass(frozen=True)
class Failure:
    """Why a call gave no result; `sticky` means that this process is past use."""

    status: Status
    reason: str
    sticky: bool = False


def attempt(action: Callable[[], object]) -> Failure | None:
    """Run `action`; return None, or its failure as text. KeyboardInterrupt passes through.

    Keep a result by storing it inside `action`. Work queued on a device fails later: synchronize
    inside `action`.
    """
    try:
        action()
    except (Exception, SystemExit) as error:
        return describe(error)
    return None


def describe(error: BaseException) -> Failure:
    """Turn an exception into a `Failure`, and clear every frame that it and its causes hold."""
    failure = Failure(_status(error), _reason(error), _sticky(error))
    for each in _chain(error):
        traceback.clear_frames(each.__traceback__)
        each.__traceback__ = None
    return failure


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield the error, its causes and contexts, and the members of groups, each once."""
    waiting, seen = [error], {id(error)}
    while waiting:
        each = waiting.pop()
        yield each
        members = each.exceptions if isinstance(each, BaseExceptionGroup) else ()
        for other in (each.__cause__, each.__context__, *members):
            if other is not None and id(other) not in seen:
                seen.add(id(other))
                waiting.append(other)


def _status(error: BaseException) -> Status:
    from harness.attention.backend import Unavailable, Unsupported

    if isinstance(error, Unsupported):
        return Status.UNSUPPORTED
    if isinstance(error, Unavailable):
        return Status.UNAVAILABLE
    if _out_of_memory(error) or (error.__cause__ and _out_of_memory(error.__cause__)):
        return Status.OUT_OF_MEMORY
    return Status.ERROR


def _out_of_memory(error: BaseException) -> bool:
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and bool(OUT_OF_MEMORY.search(str(error)))


def _sticky(error: BaseException) -> bool:
    if isinstance(error, Misconduct):
        return error.sticky
    return isinstance(error, RuntimeError) and bool(STICKY.search(str(error)))


def _reason(error: BaseException) -> str:
    status, line = _status(error), _first_line(error)
    if status in (Status.UNSUPPORTED, Status.UNAVAILABLE) or isinstance(error, Misconduct):
        return line or status.value
    tried = TRIED_BYTES.search(str(error))
    if status is Status.OUT_OF_MEMORY and tried:
        return f"out of memory: tried to allocate {int(tried[1]):,} bytes"
    name = type(error).__name__
    return f"{name}: {line}"[:LONGEST_REASON] if line else name


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].strip()[:LONGEST_REASON] if lines else ""
