"""Archive: many runs of a results folder, read for a few columns only, as arrays [run, cell]."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.figures import ABSENT, Figures, read_figures
from harness.store import FACTS, find_run, read_facts

Array = NDArray[np.float64]
# Words of a run's command that choose some of the cells: what they left out has not vanished.
SUITE_FILE = re.compile(r"(^|/)test_\w+\.py")
CHOOSING = ("-k", "-m", "--attn-backends", "--deselect", "--ignore", "--lf", "--last-failed")


@dataclass(frozen=True)
class Past:
    """Hold one run of the archive: where it lies and the facts of its run.json."""

    folder: Path
    facts: dict[str, Any]

    @property
    def name(self) -> str:
        """Name of the run: its folder's name."""
        return self.folder.name

    @property
    def started(self) -> str:
        """When it began, in ISO format, empty if it does not tell."""
        return str(self.facts.get("started") or "")

    @property
    def confirms(self) -> str | None:
        """Name of the run of which this one measured some cells again, if it did."""
        return self.facts.get("confirms")

    @property
    def kind(self) -> tuple[Any, ...]:
        """What runs must share to be held against each other: machine, device and grid."""
        grid = self.facts.get("grid")
        name = grid.get("name") if isinstance(grid, dict) else None
        return self.facts.get("fingerprint"), self.facts.get("device"), name

    @property
    def choice(self) -> tuple[str, ...]:
        """The words of its command that choose some of the grid's cells."""
        words = str(self.facts.get("command") or "").split()
        chosen = [
            word
            for before, word in zip(["", *words], words, strict=False)
            if {before, word.split("=")[0]} & set(CHOOSING) or SUITE_FILE.search(word)
        ]
        return tuple(sorted(chosen))


@dataclass(frozen=True)
class Archive:
    """Hold the runs' figures: log seconds [run, cell] and [run, process, cell], bytes, statuses.

    NaN where there is none; `statuses` index STATUSES, ABSENT where a run lacks the cell.
    """

    runs: tuple[Past, ...]
    cells: tuple[str, ...]
    medians: Array
    replicas: Array
    peaks: Array
    statuses: NDArray[np.int8]

    def row(self, name: str) -> int:
        """Return the place of a run."""
        return [run.name for run in self.runs].index(name)


def list_runs(results: Path) -> tuple[list[Past], list[str]]:
    """List the runs of a folder, oldest first, and one line for each that cannot be read.

    Runs that measure noise alone (`kind` is noise) are left out. ValueError if there is no folder.
    """
    if not results.is_dir():
        raise ValueError(f"no folder of runs {str(results)!r}; name one with --results")
    runs, problems = [], []
    for path in sorted(results.glob(f"*/{FACTS}")):
        try:
            runs.append(Past(path.parent, read_facts(path.parent)))
        except ValueError as error:
            problems.append(str(error))
    kept = [run for run in runs if run.facts.get("kind") != "noise"]
    return sorted(kept, key=lambda run: (run.started, run.name)), problems


def pick_run(runs: Sequence[Past], results: Path, name: str | None) -> Past:
    """Return the run of a name or path, or the newest that is no confirmation of another."""
    if name is None:
        whole = [run for run in runs if not run.confirms]
        if not whole:
            find_run(results)  # says how to measure one
            raise ValueError(f"no run in {results} but confirmations of others")
        return whole[-1]
    folder = find_run(results, name)
    return Past(folder, read_facts(folder))


def read_archive(runs: Sequence[Past]) -> tuple[Archive, list[str]]:
    """Read the figures of runs, and one line for each that is broken: it is left out."""
    kept, read, problems = [], [], []
    for run in runs:
        try:
            read.append(read_figures(run.folder))
            kept.append(run)
        except (ValueError, OSError) as error:
            problems.append(f"{run.name} is left out: {' '.join(str(error).split())}")
    return stack(kept, read), problems


def stack(runs: Sequence[Past], read: Sequence[Figures]) -> Archive:
    """Lay runs of different cells into arrays of the same cells."""
    names = {name: None for figures in read for name in figures.cells}
    places = {name: place for place, name in enumerate(names)}
    depth = max((figures.replicas.shape[0] for figures in read), default=1)
    shape = (len(read), len(places))
    medians, peaks = np.full(shape, np.nan), np.full(shape, np.nan)
    replicas = np.full((shape[0], depth, shape[1]), np.nan)
    statuses = np.full(shape, ABSENT, dtype=np.int8)
    for row, figures in enumerate(read):
        where = [places[name] for name in figures.cells]
        medians[row, where], peaks[row, where] = figures.medians, figures.peaks
        statuses[row, where] = figures.statuses
        for process, values in enumerate(figures.replicas):
            replicas[row, process, where] = values
    return Archive(tuple(runs), tuple(places), medians, replicas, peaks, statuses)
