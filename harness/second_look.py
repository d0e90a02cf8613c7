"""Second look: which cells of a run to measure again, on which grid and device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.grid import Grid, grid_names
from harness.resume import grid_digest
from harness.store import find_run, read_facts


@dataclass(frozen=True)
class SecondLook:
    """Name the run to confirm, the cells to measure again, and what was asked of the machine."""

    run: str
    cells: frozenset[str]
    facts: Mapping[str, Any]

    @property
    def grid(self) -> str:
        """Name of the run's grid; ValueError if it came from a file."""
        told = self.facts.get("grid")
        name = str(told.get("name")) if isinstance(told, Mapping) else "?"
        if name not in grid_names():
            raise ValueError(
                f"{self.run} was measured on a grid of its own: pass --attn-grid FILE"
            )
        return name

    def check(self, grid: Grid) -> None:
        """Refuse another grid than the run's with ValueError: its times would be other times."""
        known = self.facts.get("grid_digest")
        if known is not None and known != grid_digest(grid):
            raise ValueError(f"{self.run} was measured on another grid than {grid.name!r}")


def second_look(results: str | Path, run: str) -> SecondLook:
    """Judge a run against its past and list what to measure again; ValueError if that fails."""
    from harness.remote.mirror import folder_of
    from harness.tracking import cells_to_confirm

    runs = folder_of(str(results), run)
    folder = find_run(runs, run)
    return SecondLook(
        folder.name, frozenset(cells_to_confirm(runs, folder.name)), read_facts(folder)
    )
