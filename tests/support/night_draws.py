"""Draws: how a made-up machine's times differ from night to night, and what is planted there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
KINDS = ("slower", "creep", "bigger", "gone", "unsupported", "broken", "environment", "era",
         "verdict")  # fmt: skip


@dataclass(frozen=True)
class Plant:
    """Change one cell (or, for environment, era and verdict, a whole night) from a night on.

    `size` is a share: 0.05 is +5 % of time or bytes, for `creep` a night. `last` ends it.
    """

    kind: str
    night: int
    cell: int = 0
    size: float = 0.05
    last: int | None = None

    def __post_init__(self) -> None:
        assert self.kind in KINDS, self.kind

    def active(self, night: int) -> bool:
        return self.night <= night and (self.last is None or night <= self.last)


@dataclass(frozen=True)
class Noise:
    """What a machine adds to log times; shares of 1.

    Processes of a cell differ by `process` (its geometric spread over cells is `between`), a whole
    night by `night`. A share `bimodal` of the cells has two modes `gap` apart, of which each
    process takes one. A process, or one visit of it, goes `bad` by `bad_by`.
    """

    process: float = 0.006
    between: float = 1.5
    night: float = 0.002
    bimodal: float = 0.10
    gap: tuple[float, float] = (0.03, 0.36)
    bad: float = 0.01
    bad_by: tuple[float, float] = (0.05, 0.50)


@dataclass(frozen=True)
class Cells:
    """Hold what is particular to each cell: process spread, gap and odds of its slow mode."""

    spread: Array
    gap: Array
    odds: Array
    noise: Noise = field(default_factory=Noise)


def draw_cells(count: int, random: np.random.Generator, *, noise: Noise | None = None) -> Cells:
    """Draw the particulars of so many cells; the bimodal ones are spread over them evenly."""
    noise = noise or Noise()
    spread = noise.process * noise.between ** random.standard_normal(count)
    every = round(1 / noise.bimodal) if noise.bimodal else count + 1
    chosen = np.arange(count) % every == every - 1
    gap = np.log1p(random.uniform(*noise.gap, count)) * chosen
    return Cells(spread, gap, random.uniform(0.1, 0.5, count), noise)


def draw_replicas(
    cells: Cells, nights: int, random: np.random.Generator, *, replicas: int = 3
) -> Array:
    """Draw log times relative to each cell's level: [night, replica, cell]."""
    noise, shape = cells.noise, (nights, replicas, cells.spread.size)
    drawn = cells.spread * random.standard_normal(shape)
    drawn += noise.night * random.standard_normal((nights, 1, 1))
    drawn += cells.gap * (random.uniform(size=shape) < cells.odds)
    for size in ((nights, replicas, 1), shape):  # a process, a visit
        bad = random.uniform(size=size) < noise.bad
        drawn += bad * np.log1p(random.uniform(*noise.bad_by, size))
    return np.asarray(drawn)


def planted(plants: Iterable[Plant], nights: int, cells: int) -> Array:
    """Return what the plants add to log times: [night, cell]."""
    added = np.zeros((nights, cells))
    for plant in plants:
        for night in filter(plant.active, range(nights)):
            size = plant.size * (night - plant.night + 1 if plant.kind == "creep" else 1)
            where = slice(None) if plant.kind == "environment" else plant.cell
            if plant.kind in ("slower", "creep", "environment"):
                added[night, where] += np.log1p(size)
    return added
