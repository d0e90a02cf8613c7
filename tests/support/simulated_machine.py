"""A simulated machine under the real engine: its time passes only in its calls, with its noise."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from harness.analysis.fits.ratio import Ratio, time_ratio
from harness.measure.clock import CpuClock
from harness.measure.rounds import Rounds, measure_rounds
from harness.records.record import Record
from tests.support.interval_coverage import holds, shown

BASE_NS = 500_000
# One wave of drift, in simulated time: slower than a round, faster than a visit.
WAVE_NS = 100e6


@dataclass
class Machine:
    """One process: `now` reads its time. All figures are relative.

    `noise` is that of a call, `outliers` the share of calls two times as long on average, `drift`
    a wave and `process` a factor that all calls share, `own` a factor of each call by itself.
    """

    seed: int
    noise: float = 0.015
    outliers: float = 0.03
    drift: float = 0.02
    process: float = 0.01
    own: float = 0.0
    ns: float = 0.0
    source: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.source = random.Random(self.seed)
        self.factor = math.exp(self.source.gauss(0, self.process))
        self.phase = self.source.uniform(0, 2 * math.pi)

    def now(self) -> int:
        return round(self.ns)

    def call(self, ns: float) -> Callable[[], None]:
        """Return a call that takes about that long."""
        typical = ns * self.factor * math.exp(self.source.gauss(0, self.own))
        gauss, chance = self.source.gauss, self.source.random

        def lasting() -> None:
            wave = 1 + self.drift * math.sin(self.phase + 2 * math.pi * self.ns / WAVE_NS)
            late = 1 + self.source.expovariate(1) if chance() < self.outliers else 1.0
            self.ns += typical * wave * late * math.exp(gauss(0, self.noise))

        return lasting


def visit(machine: Machine, lengths: Mapping[str, float], *, target: float) -> dict[str, Rounds]:
    """Let the real engine time calls of so many nanoseconds side by side."""
    calls = {name: machine.call(ns) for name, ns in lengths.items()}
    clock = CpuClock(machine.now)
    return measure_rounds(calls, clock, target=target, cap_s=60, seed=machine.seed)


def twins(
    seed: int, slower: float, *, replicas: int, target: float, **noise: float
) -> tuple[Ratio, dict[str, Record]]:
    """Return the time of a twin, slower by that share, over its model's, and both records."""
    lengths = {"twin": BASE_NS * (1 + slower), "model": BASE_NS}
    seen = [
        visit(Machine(1000 * seed + number, **noise), lengths, target=target)
        for number in range(replicas)
    ]
    rounds = {name: [list(one[name].samples_s) for one in seen] for name in lengths}
    records = {name: shown(samples, name) for name, samples in rounds.items()}
    named = {records[name].cell: samples for name, samples in rounds.items()}
    return time_ratio(records["twin"], records["model"], rounds=named), records


@dataclass(frozen=True)
class Twins:
    """Count the trials in which a slower and an equal twin were told apart from the model."""

    replicas: int
    target: float
    own: float
    trials: int
    rounds: float
    slower: int
    equal: int


def told_apart(
    *, replicas: int, target: float, trials: int = 200, slower: float = 0.03, **noise: float
) -> Twins:
    """Run seeded trials with a slower twin and with an equal one."""
    counts, rounds = [], 0
    for share in (slower, 0.0):
        found = [
            twins(seed, share, replicas=replicas, target=target, **noise) for seed in range(trials)
        ]
        counts.append(sum(not ratio.low <= 1 <= ratio.high for ratio, _ in found))
        rounds += sum(records["model"].samples or 0 for _, records in found)
    own = noise.get("own", 0.0)
    return Twins(replicas, target, own, trials, rounds / (2 * trials * replicas), *counts)


def held_when_stopped(target: float, *, trials: int) -> tuple[int, int]:
    """Count the trials whose interval held the truth as the stopping rule left it.

    The first count is of one process, the second of three. Noise is log-normal alone.
    """
    quiet = {"outliers": 0.0, "drift": 0.0, "process": 0.0}
    within = across = 0
    for seed in range(trials):
        machines = (Machine(3 * seed + number, **quiet) for number in range(3))
        seen = [visit(one, {"a": BASE_NS}, target=target)["a"].samples_s for one in machines]
        within += holds(shown([list(seen[0])]), BASE_NS / 1e9)
        across += holds(shown([list(one) for one in seen]), BASE_NS / 1e9)
    return within, across
