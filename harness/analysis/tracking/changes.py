"""Changes: since when a cell is slower, and when its machine or a package changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from harness.analysis.tracking.gate import (
    ENOUGH,
    LEAST_CHANGE,
    LEAST_SPREAD,
    Array,
    Flags,
    clipped,
    discoveries,
    level_of,
)
from harness.records.archive import ArchivedRun

LEAST_AFTER, MOST_AFTER = 5, 15  # runs since the change: older ones have been told already
LOOK_BACK = 45  # runs: 30 of a history and the 15 that may be new
FALSE_DISCOVERIES = 0.01
SEGMENTS = 8  # steps of one cell that are listed at most


@dataclass(frozen=True)
class Steps:
    """Hold the likeliest change of each cell [cells]: runs since, log level before, shift now.

    `found` where it is beyond chance over all cells and the last five runs lie 3 % above.
    """

    after: Array
    before: Array
    shift: Array
    odds: Array
    found: Flags


def newest_steps(series: Array) -> Steps:
    """Look for a lasting rise within the last 15 runs of [runs, cells] logs, NaN left out.

    Every split with 5 runs after and 10 before it is tried: t of the means of the clipped series,
    its odds times the number of splits (Bonferroni), false discoveries held to 1 %. A cell whose
    likeliest split is older than 15 runs has no news.
    """
    past = clipped(series[-LOOK_BACK:])
    splits = range(LEAST_AFTER, len(past) - ENOUGH + 1)
    best, after, before = _likeliest(past, splits)
    odds = np.minimum(1.0, len(splits) * special.stdtr(max(1, len(past) - 2), -best))
    shift = level_of(past[-LEAST_AFTER:]) - before
    sure = discoveries(odds, np.isfinite(best) & np.isfinite(shift), share=FALSE_DISCOVERIES)
    found = sure & (shift > LEAST_CHANGE) & (after <= MOST_AFTER)
    return Steps(after, before, shift, odds, found)


def _likeliest(past: Array, splits: range) -> tuple[Array, Array, Array]:
    """Return t, runs after and level before of the likeliest split of each cell."""
    cells = past.shape[1]
    best, after, before = np.full(cells, -np.inf), np.zeros(cells), np.zeros(cells)
    for count in splits:
        steps, level = split_at(past, len(past) - count), level_of(past[: len(past) - count])
        better = steps > best
        best, after = np.where(better, steps, best), np.where(better, count, after)
        before = np.where(better, level, before)
    return best, after, before


def split_at(past: Array, place: int, *, least_before: int = ENOUGH) -> Array:
    """Return Student's t of a rise at a split, per cell; -inf where too few runs are left."""
    parts = [_moments(past[:place]), _moments(past[place:])]
    (old, old_mean, old_squares), (new, new_mean, new_squares) = parts
    enough = (old >= least_before) & (new >= LEAST_AFTER)
    old, new = np.maximum(old, 2), np.maximum(new, 2)
    spread = np.maximum(np.sqrt((old_squares + new_squares) / (old + new - 2)), LEAST_SPREAD)
    steps = (new_mean - old_mean) / (spread * np.sqrt(1 / old + 1 / new))
    return np.where(enough, steps, -np.inf)


def all_steps(series: Array) -> list[int]:
    """Return where the level of one cell's series moved, by halving it again and again.

    A step counts beyond p = 0.01 over all splits and 3 %, up or down, with five runs on each side.
    """
    places: list[int] = []
    parts = [(0, len(series))]
    values = clipped(series[:, None])
    while parts and len(places) < SEGMENTS:
        first, last = parts.pop(0)
        place = _widest(values[first:last])
        if place is not None:
            places.append(first + place)
            parts += [(first, first + place), (first + place, last)]
    return sorted(places)


def _widest(values: Array) -> int | None:
    """Return the likeliest split of one column, None if none is beyond chance and 3 %."""
    splits = range(LEAST_AFTER, len(values) - LEAST_AFTER + 1)
    steps = [float(split_at(values, place, least_before=LEAST_AFTER)[0]) for place in splits]
    scores = [abs(step) if np.isfinite(step) else 0.0 for step in steps]
    if not scores:
        return None
    place = splits[int(np.argmax(scores))]
    odds = 2 * len(scores) * special.stdtr(max(1, len(values) - 2), -max(scores))
    rise = float((level_of(values[place:]) - level_of(values[:place]))[0])
    return place if odds < FALSE_DISCOVERIES and abs(rise) > LEAST_CHANGE else None


def _moments(part: Array) -> tuple[Array, Array, Array]:
    """Return count, mean and sum of squares about it of each column, NaN left out."""
    known = np.isfinite(part)
    count = known.sum(axis=0).astype(np.float64)
    mean = np.where(known, part, 0.0).sum(axis=0) / np.maximum(count, 1)
    return count, mean, (np.where(known, part - mean, 0.0) ** 2).sum(axis=0)


@dataclass(frozen=True)
class Era:
    """Hold the runs of one fingerprint, and what differs from the era before."""

    fingerprint: str
    first: str
    last: str
    started: str
    ended: str
    runs: int
    changed: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """What began it, in words."""
        return ", ".join(self.changed) or "something of the machine that run.json does not name"


def by_fingerprint(fingerprints: Iterable[str]) -> list[list[int]]:
    """Group the places of runs by fingerprint, in the order of each one's first run.

    Numbers of two groups differ for reasons that are no change of the code. Two machines that
    take turns are two groups: a run is held against the one before it on its own machine.
    """
    found: dict[str, list[int]] = {}
    for place, fingerprint in enumerate(fingerprints):
        found.setdefault(fingerprint, []).append(place)
    return list(found.values())


def eras_of(runs: Sequence[ArchivedRun]) -> list[Era]:
    """Part runs (oldest first) into eras, that of the last run last.

    Other devices and grids are not to be among them.
    """
    eras: list[Era] = []
    before: ArchivedRun | None = None
    groups = by_fingerprint(str(run.facts.get("fingerprint")) for run in runs)
    for group in sorted(groups, key=lambda places: places[-1]):
        own = [runs[place] for place in group]
        changed = tuple(fingerprint_differences(before.facts, own[0].facts)) if before else ()
        names, times = (own[0].name, own[-1].name), (own[0].started, own[-1].started)
        fingerprint = str(own[0].facts.get("fingerprint"))
        eras.append(Era(fingerprint, *names, *times, len(own), changed))
        before = own[-1]
    return eras


def fingerprint_differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Say what differs of what a fingerprint is made of, e.g. `torch 2.13.0 to 2.14.0`."""
    return _changed(*(identity(part(facts, "machine")) for facts in (before, now)))


def package_changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Say which packages differ, also those that no fingerprint holds."""
    return _changed(*(part(part(facts, "machine"), "packages") for facts in (before, now)))


def _changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    return [
        f"{name} {old.get(name) or 'none'} to {new.get(name) or 'none'}"
        for name in dict.fromkeys([*old, *new])
        if old.get(name) != new.get(name)
    ]


def identity(machine: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a fingerprint is made of, by the names that people use."""
    gpus = machine.get("gpus")
    cards = [card for card in gpus if isinstance(card, dict)] if isinstance(gpus, list) else []
    known = {
        "processor": machine.get("cpu_model"),
        "cores": machine.get("cores"),
        "threads": machine.get("threads"),
        "torch": part(machine, "packages").get("torch"),
        "GPUs": len(cards),
    }
    for place, card in enumerate(cards):
        label = f" of GPU {place}" if len(cards) > 1 else ""
        known |= {
            f"GPU{label}": card.get("name"),
            f"driver{label}": card.get("driver"),
            f"power limit (W){label}": card.get("power_limit_w"),
        }
    return known


def part(facts: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a part of a run's facts, empty where a run of another version lacks it."""
    found = facts.get(name)
    return found if isinstance(found, Mapping) else {}
