"""Refusal: say no to a cell whose estimated memory does not fit, before the kernel is killed."""

from __future__ import annotations

from harness.attention.backend import Backend
from harness.case import Case
from harness.measure.machine import available_memory

# The last tenth of the free memory is for the page cache and for what the estimate leaves out.
USABLE_SHARE = 0.9


class TooLarge(MemoryError):
    """Said of a cell that was not tried, since its memory would not fit."""


def wanted_bytes(backend: Backend, case: Case) -> int:
    """Estimate the peak of a forward call above its inputs: output, score matrices, mask."""
    mask = 0
    if case.mask not in ("full", "causal"):
        mask = case.batch * case.length_query * case.length_key * case.itemsize
    return round(case.output_bytes() + backend.score_matrices * case.score_bytes() + mask)


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
