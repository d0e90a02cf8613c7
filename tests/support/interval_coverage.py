"""Samples whose true median is known, and how often the interval that is shown holds it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import signal, stats

from harness.analysis.fits.intervals import median_interval
from harness.cases.case import Case
from harness.records.record import Observation, Record
from harness.run.replicas import combine

Samples = NDArray[np.float64]
Shape = tuple[int, int, int]
CASE = Case.square(64)
NOISE, SLOW_MODE = 0.02, 1.1


@dataclass(frozen=True)
class Law:
    """Draw samples [trial, replica, round]; `median` is that of all processes' own medians."""

    name: str
    draw: Callable[[np.random.Generator, Shape], Samples]
    median: float = 1.0


@dataclass(frozen=True)
class Cover:
    """Count the trials whose interval held the true median: of one process, and of all."""

    law: str
    count: int
    replicas: int
    trials: int
    within: int
    across: int


def noise(draw: np.random.Generator, shape: Shape) -> Samples:
    return np.exp(NOISE * draw.standard_normal(shape))


def outliers(draw: np.random.Generator, shape: Shape) -> Samples:
    """Make one sample in ten two times as long on average, as an interrupt does."""
    late = draw.random(shape) < 0.1
    return noise(draw, shape) * np.where(late, 1 + draw.exponential(1.0, shape), 1.0)


def two_modes(draw: np.random.Generator, shape: Shape) -> Samples:
    """Make three samples in ten 10 % slower than the others."""
    slow = draw.random(shape) < 0.3
    return np.exp(NOISE / 2 * draw.standard_normal(shape)) * np.where(slow, SLOW_MODE, 1.0)


def following(share: float) -> Callable[[np.random.Generator, Shape], Samples]:
    """Make each deviation keep that share of the one before it, from a settled start on."""

    def draw_following(draw: np.random.Generator, shape: Shape) -> Samples:
        steps = np.sqrt(1 - share**2) * draw.standard_normal(shape)
        start = draw.standard_normal((*shape[:2], 1))
        kept, _ = signal.lfilter([1.0], [1.0, -share], steps, zi=share * start)
        return np.exp(NOISE * kept)

    return draw_following


def processes(draw: np.random.Generator, shape: Shape) -> Samples:
    """Make processes differ by 3 %, more than a process knows of itself."""
    return noise(draw, shape) * np.exp(0.03 * draw.standard_normal((*shape[:2], 1)))


def layouts(draw: np.random.Generator, shape: Shape) -> Samples:
    """Make three processes in ten 36 % slower, as two layouts of the memory do."""
    slow = draw.random((*shape[:2], 1)) < 0.3
    return noise(draw, shape) * np.where(slow, 1.36, 1.0)


def mixed_median(draw: Callable[[np.random.Generator, Shape], Samples]) -> float:
    """Return the median of a law that has no closed form: from 4 million draws, within 0.002 %."""
    return float(np.median(draw(np.random.default_rng(0), (1, 1, 4_000_000))))


def laws() -> list[Law]:
    """List the laws; the last two are of processes, not of samples."""
    return [
        Law("log-normal", noise),
        Law("10 % outliers", outliers, mixed_median(outliers)),
        Law("bimodal", two_modes, mixed_median(two_modes)),
        Law("autocorrelated 0.6", following(0.6)),
        Law("autocorrelated 0.9", following(0.9)),
        Law("autocorrelated 0.99", following(0.99)),
        Law("processes differ by 3 %", processes),
        Law("two kinds of process", layouts),
    ]


def cover(law: Law, *, count: int, replicas: int, trials: int, seed: int = 0) -> Cover:
    """Ask in so many trials whether the intervals hold the true median."""
    drawn = law.draw(np.random.default_rng(seed), (trials, replicas, count))
    within = across = 0
    for trial in drawn:
        low, high = median_interval(trial[0])
        within += low <= law.median <= high
        across += holds(shown(trial.tolist()), law.median)
    return Cover(law.name, count, replicas, trials, within, across)


def shown(samples: list[list[float]], backend: str = "naive") -> Record:
    """Return the record that the pool makes of such samples."""
    seen = [Observation(backend=backend, samples_s=tuple(one)) for one in samples]
    return combine(CASE, backend, seen)[0]


def holds(record: Record, value: float) -> bool:
    assert record.time_low_s is not None
    assert record.time_high_s is not None
    return record.time_low_s <= value <= record.time_high_s


def share(hits: int, trials: int) -> tuple[float, float, float]:
    """Return the share of hits and its 95 % interval by Clopper and Pearson."""
    found: Any = stats.binomtest(hits, trials).proportion_ci(0.95, method="exact")
    return hits / trials, float(found.low), float(found.high)
