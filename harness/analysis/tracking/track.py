"""Track: a run of a results folder judged against its past, and what to measure again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.analysis.tracking.changes import Era, eras_of, package_changes
from harness.analysis.tracking.gate import followed_series
from harness.analysis.tracking.judge import (
    Again,
    Judgement,
    judge_last,
    to_confirm,
    with_second_look,
)
from harness.analysis.tracking.noise import noise_floors
from harness.cases.grid import Grid, grid_digest, grid_names
from harness.records.archive import (
    Archive,
    ArchivedRun,
    list_runs,
    pick_run,
    read_archive,
    read_reasons,
)
from harness.records.store import find_run, read_facts

if TYPE_CHECKING:
    from harness.analysis.tracking.gate import Array


@dataclass(frozen=True)
class History:
    """Hold a run's judgement, its archive, the eras of its folder and what could not be read.

    `confirmation` is the run that measured its candidates again, if there is one; `others` counts
    the runs of the same machine that asked another grid.
    """

    judgement: Judgement
    archive: Archive
    eras: tuple[Era, ...]
    packages: tuple[str, ...]
    problems: tuple[str, ...]
    confirmation: str | None = None
    others: int = 0


def track(results: Path, name: str | None = None) -> History:
    """Judge a run (the newest if none is named) against all runs before it of its kind.

    A kind is machine, device and grid. What is broken is told and left out. ValueError in one
    line if there is no such run, or if it cannot be read or does not know its machine.
    """
    runs, problems = list_runs(results)
    run = pick_run(runs, results, name)
    before = [one for one in runs if not one.confirms and is_before(one, run)]
    archive, broken = archive_of(before, run)
    floors = noise_floors(results, str(run.facts["fingerprint"]))
    judged = judge_last(archive, floors=floors, reasons=read_reasons(run.folder))
    last = [one.facts for one in judged.past[-1:]]
    history = History(
        judged, archive, tuple(eras_of([*same_grid(before, run), run])),
        tuple(change for facts in last for change in package_changes(facts, run.facts)),
        (*problems, *broken), others=count_others(before, run),
    )  # fmt: skip
    return with_confirmation(history, runs)


def cells_to_confirm(results: Path, run: str) -> list[str]:
    """List the cells to measure again for a run: candidates, then controls; none if all is well.

    ValueError in one line if there is no such run or it cannot be judged.
    """
    candidates, controls = to_confirm(track(results, run).judgement)
    return list(dict.fromkeys([*candidates, *controls]))


def archive_of(before: Sequence[ArchivedRun], run: ArchivedRun) -> tuple[Archive, list[str]]:
    """Read a run and those of its kind before it; ValueError if it cannot be judged."""
    if not run.facts.get("fingerprint"):
        raise ValueError(f"{run.name} does not know its machine: it has no fingerprint")
    archive, broken = read_archive([*(one for one in before if one.kind == run.kind), run])
    if not archive.runs or archive.runs[-1].name != run.name:
        raise ValueError(broken[-1])
    return archive, broken


def count_others(before: Sequence[ArchivedRun], run: ArchivedRun) -> int:
    """Count the runs of the same machine that are of another kind."""
    machine = [one for one in before if one.kind[0] == run.kind[0]]
    return sum(one.kind != run.kind for one in machine)


def is_before(one: ArchivedRun, run: ArchivedRun) -> bool:
    """Whether a run began before another."""
    return (one.started, one.name) < (run.started, run.name)


def same_grid(runs: Sequence[ArchivedRun], run: ArchivedRun) -> list[ArchivedRun]:
    """Return the runs of the same device and grid, on whatever machine."""
    return [one for one in runs if one.kind[1:] == run.kind[1:]]


def with_confirmation(history: History, runs: Sequence[ArchivedRun]) -> History:
    """Return what the newest run that measured the candidates again makes of them."""
    run = history.judgement.run
    again = [
        one for one in runs if one.confirms == run.name and one.kind[:2] == run.kind[:2]
    ]  # the grid of a confirmation may have another name
    archive, broken = read_archive(again[-1:])
    if not archive.runs:
        return replace(history, problems=(*history.problems, *broken))
    judged = with_second_look(history.judgement, times_again(archive))
    return replace(history, judgement=judged, confirmation=archive.runs[-1].name)


def times_again(archive: Archive) -> Again:
    """Return seconds of the median and of the fastest process of each cell of the last run."""
    medians, fastest = archive.medians[-1], np.fmin.reduce(archive.replicas[-1], axis=0)
    fastest = np.where(np.isfinite(fastest), fastest, medians)
    return {
        cell: (float(np.exp(medians[place])), float(np.exp(fastest[place])))
        for place, cell in enumerate(archive.cells)
        if np.isfinite(medians[place])
    }


def series_of(history: History, cell: str) -> tuple[Array, Array]:
    """Return seconds and bytes of one cell over the runs; ValueError for one that is not there."""
    cells = history.archive.cells
    if cell not in cells:
        from difflib import get_close_matches

        near = get_close_matches(cell, cells, n=3, cutoff=0.3) or cells[:3]
        raise ValueError(f"no cell {cell!r} in these runs; close to it: {', '.join(near)}")
    place = cells.index(cell)
    series, _ = followed_series(history.archive.medians, history.archive.replicas)
    return np.exp(series[:, place]), history.archive.peaks[:, place]


@dataclass(frozen=True)
class SecondLook:
    """Name the run to confirm, the cells to measure again, and what was asked of the machine."""

    run: str
    cells: frozenset[str]
    facts: Mapping[str, Any]

    @property
    def grid(self) -> str:
        """Name of the run's grid; ValueError if it came from a file."""
        grid = self.facts.get("grid")
        name = str(grid.get("name")) if isinstance(grid, Mapping) else "?"
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
    from harness.records.remote.download import folder_of

    runs = folder_of(str(results), run)
    folder = find_run(runs, run)
    return SecondLook(
        folder.name, frozenset(cells_to_confirm(runs, folder.name)), read_facts(folder)
    )
