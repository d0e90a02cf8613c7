"""Simulation: sixty nights of a made-up machine, judged and confirmed as real ones are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from harness.analysis.tracking.gate import ENOUGH
from harness.analysis.tracking.judge import Judgement, judge_last, to_confirm, with_second_look
from harness.records.archive import ABSENT, STATUSES, Archive, ArchivedRun
from tests.support.histories import RATES, facts_of
from tests.support.night_draws import (
    Array,
    Cells,
    Noise,
    Plant,
    draw_cells,
    draw_replicas,
    planted,
)

PEAK = 1_000_000.0


@dataclass(frozen=True)
class Machine:
    """Hold a made-up machine: log times [night, process, cell] and fresh ones to confirm with."""

    seed: int
    nights: int = 60
    count: int = 300
    noise: Noise = field(default_factory=Noise)

    @cached_property
    def cells(self) -> Cells:
        return draw_cells(self.count, np.random.default_rng(self.seed), noise=self.noise)

    @cached_property
    def logs(self) -> Array:
        return draw_replicas(self.cells, self.nights, np.random.default_rng([self.seed, 1]))

    @cached_property
    def fresh(self) -> Array:
        return draw_replicas(self.cells, self.nights, np.random.default_rng([self.seed, 2]))

    @cached_property
    def names(self) -> tuple[str, ...]:
        backends = list(RATES)
        return tuple(f"{backends[at % len(backends)]}.cell-{at}" for at in range(self.count))

    def archive(self, night: int, plants: Sequence[Plant] = ()) -> Archive:
        """Make the archive as it is after a night."""
        upto = night + 1
        replicas = self.logs[:upto] + planted(plants, upto, self.count)[:, None, :]
        shape = (upto, self.count)
        statuses = np.full(shape, STATUSES.index("ok"), dtype=np.int8)
        peaks = np.full(shape, PEAK)
        for plant in plants:
            rows = [row for row in range(upto) if plant.active(row)]
            if plant.kind == "bigger":
                peaks[rows, plant.cell] *= 1 + plant.size
            if plant.kind in ("gone", "unsupported"):
                code = ABSENT if plant.kind == "gone" else STATUSES.index("unsupported")
                statuses[rows, plant.cell] = code
                replicas[rows, :, plant.cell] = peaks[rows, plant.cell] = np.nan
        runs = tuple(
            ArchivedRun(Path(f"night-{row:03}"), facts_of("", row)) for row in range(upto)
        )
        return Archive(runs, self.names, np.median(replicas, axis=1), replicas, peaks, statuses)

    def judged(self, night: int, plants: Sequence[Plant] = ()) -> Judgement:
        """Judge a night and, if it has candidates, measure them and the controls once more."""
        judgement = judge_last(self.archive(night, plants))
        cells = [cell for part in to_confirm(judgement) for cell in part]
        if not cells:
            return judgement
        added = planted(plants, night + 1, self.count)[night]
        times = np.exp(self.fresh[night] + added)
        places = [self.names.index(cell) for cell in cells]
        again = {
            cell: (float(np.median(times[:, at])), float(times[:, at].min()))
            for cell, at in zip(cells, places, strict=True)
        }
        return with_second_look(judgement, again)


def alarms(judgement: Judgement) -> set[str]:
    return {finding.cell for finding in judgement.findings if finding.alarms}


def false_alarms(machine: Machine) -> list[int]:
    """Count the alarms of each night on which nothing is wrong."""
    return [len(alarms(machine.judged(night))) for night in range(ENOUGH, machine.nights)]


@dataclass(frozen=True)
class Found:
    """Say whether a planted change was found, and whether its cell was tracked at all."""

    found: bool
    tracked: bool
    nights: int = 1


def found_steps(machine: Machine, size: float, *, nights: Sequence[int], each: int) -> list[Found]:
    """Plant a step in a few cells drawn at random, on one night after the other."""
    random = np.random.default_rng([machine.seed, 3, round(1e4 * size)])
    found = []
    for night in nights:
        cells = random.choice(machine.count, each, replace=False)
        plants = [Plant("slower", night, int(cell), size) for cell in cells]
        judgement = machine.judged(night, plants)
        heard, known = alarms(judgement), set(judgement.named("tracked")["cell"])
        names = [machine.names[cell] for cell in cells]
        found += [Found(name in heard, name in known) for name in names]
    return found


def found_creep(
    machine: Machine, rate: float, *, start: int, count: int, most: int = 25
) -> list[Found]:
    """Let a few cells creep from a night on; each says after how many nights it was found."""
    random = np.random.default_rng([machine.seed, 4])
    cells = [int(cell) for cell in random.choice(machine.count, count, replace=False)]
    before = set(machine.judged(start - 1).named("tracked")["cell"])
    names = {
        machine.names[cell]: Found(False, machine.names[cell] in before, most) for cell in cells
    }
    plants = [Plant("creep", start, cell, rate) for cell in cells]
    for night in range(start, min(start + most, machine.nights)):
        for name in alarms(machine.judged(night, plants)) & set(names):
            if not names[name].found:
                names[name] = replace(names[name], found=True, nights=night - start + 1)
    return list(names.values())
