"""Cells: the attention cells that every tool measures, and the call that each tool is handed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product

from harness.cases.case import Case, cell_name

Call = Callable[[], object]
# The whole score matrix, a fused kernel, and a Python loop over blocks; 70 us to 0.1 s a call.
BACKENDS = ("naive", "sdpa-flash", "tiled")
LENGTHS = (64, 256, 1024, 2048)


def all_cells(device: str) -> dict[str, tuple[str, Case]]:
    """Map the name of each cell to (backend, case): B=1, H=4, D=64, float32, full mask, forward.

    The lengths come in the outer loop, so that a shorter list still holds every backend.
    """
    cells = {}
    for length, backend in product(LENGTHS, BACKENDS):
        case = Case.square(length, device=device)
        cells[cell_name(backend, case)] = (backend, case)
    return cells


def first_cells(count: int, device: str) -> list[str]:
    """Return the names of the first `count` cells; ValueError if there are not so many."""
    names = list(all_cells(device))
    if not 1 <= count <= len(names):
        raise ValueError(f"cells must be from 1 to {len(names)}, not {count}")
    return names[:count]


def start_torch(device: str, threads: int) -> None:
    """Load torch and fix its threads, as a worker of the pool does; no gradients."""
    import torch

    from harness.measure.setup import set_up

    set_up(device, threads)
    torch.set_grad_enabled(False)


def ready_call(name: str, device: str) -> Call:
    """Return the call of a cell with its inputs made; on a GPU it returns before its work ends."""
    from harness.attention.backends import BACKENDS as KNOWN
    from harness.attention.inputs import make_inputs

    backend, case = all_cells(device)[name]
    return KNOWN[backend].prepare(case, make_inputs(case))


def awaited(call: Call, device: str) -> Call:
    """Make a call wait for its own end, for tools that only read the host's clock."""
    if device == "cpu":
        return call
    import torch

    def call_and_wait() -> None:
        call()
        torch.cuda.synchronize()

    return call_and_wait


def by_case(names: Iterable[str], device: str) -> dict[Case, list[str]]:
    """Group the names of cells by their case: the engine times all backends of one together."""
    cells = all_cells(device)
    groups: dict[Case, list[str]] = {}
    for name in names:
        groups.setdefault(cells[name][1], []).append(name)
    return groups
