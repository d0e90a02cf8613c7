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
