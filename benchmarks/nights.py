"""Simulate nights of made-up machines: how often `history` cries wolf, and what it finds.

Run `python -m benchmarks.nights --machines 20` for the table of docs/tracking.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
from scipy import special, stats

from harness.analysis.tracking.change import change_of
from tests.support.night_draws import Noise, draw_replicas
from tests.support.simulated_nights import Found, Machine, false_alarms, found_creep, found_steps

STEPS = (0.03, 0.05, 0.10)
CREEP, CREEP_NIGHTS, CREEP_START = 0.005, 15, 35
COMPARED = 4  # machines of which every cell is compared
STEP_NIGHTS = range(20, 60, 2)


def share_text(hits: int, count: int) -> str:
    """Write a share in percent with its exact binomial 95 % interval."""
    low, high = stats.binomtest(hits, count).proportion_ci(method="exact")
    return f"{100 * hits / count:.1f} % [{100 * low:.1f}, {100 * high:.1f}], n={count}"


def rate_text(hits: int, nights: int) -> str:
    """Write a rate a night with its exact Poisson 95 % interval."""
    low = special.gammaincinv(hits, 0.025) if hits else 0.0
    high = special.gammaincinv(hits + 1, 0.975)
    return f"{hits / nights:.3f} [{low / nights:.3f}, {high / nights:.3f}], n={nights}"


def rows(machines: Sequence[Machine]) -> Iterator[tuple[str, str]]:
    """Yield what was asked and what came out, over all machines."""
    counts = [count for machine in machines for count in false_alarms(machine)]
    yield "false alarms a night, after confirmation", rate_text(sum(counts), len(counts))
    for size in STEPS:
        found = [
            one for each in machines for one in found_steps(each, size, nights=STEP_NIGHTS, each=5)
        ]
        yield f"+{size:.0%} found in its first night, tracked cells", _share(found, tracked=True)
        yield f"+{size:.0%} found in its first night, all cells", _share(found)
    crept = [
        one for each in machines for one in found_creep(each, CREEP, start=CREEP_START, count=10)
    ]
    soon = [one for one in crept if one.found and one.nights <= CREEP_NIGHTS]
    text = f"+{CREEP:.1%} a night found within {CREEP_NIGHTS} nights, all cells"
    yield text, share_text(len(soon), len(crept))
    yield "cells that are tracked", _tracked(crept)


def verdicts(machines: Sequence[Machine], *, processes: int, size: float) -> list[str]:
    """Return the words of `compare` for a run and another one, each cell longer by `size`."""
    words = []
    for each in machines:
        random = np.random.default_rng([each.seed, 5, processes])
        old, new = np.exp(draw_replicas(each.cells, 2, random, replicas=processes))
        for at in range(each.count):
            pair = old[:, at : at + 1], (1 + size) * new[:, at : at + 1]
            words.append(change_of([pair[0]], pair[1]).verdict)
    return words


def compared(machines: Sequence[Machine]) -> Iterator[tuple[str, str]]:
    """Yield what `compare` makes of two runs without noise floors, by processes a side."""
    for processes in (3, 9):
        same = verdicts(machines, processes=processes, size=0.0)
        wrong = sum(word in ("slower", "faster") for word in same)
        yield (
            f"{processes} processes, nothing changed: called slower or faster",
            share_text(wrong, len(same)),
        )
        slower = verdicts(machines, processes=processes, size=0.1)
        text = share_text(slower.count("slower"), len(slower))
        yield f"{processes} processes, +10%: called slower", text


def _share(found: Sequence[Found], *, tracked: bool = False) -> str:
    asked = [one for one in found if one.tracked or not tracked]
    return share_text(sum(one.found for one in asked), len(asked))


def _tracked(found: Sequence[Found]) -> str:
    return share_text(sum(one.tracked for one in found), len(found))


def main() -> None:
    """Print one table for a kind of machine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machines", type=int, default=20, help="machines of 60 nights each")
    parser.add_argument("--process", type=float, default=0.006, help="spread between processes")
    parser.add_argument("--first", type=int, default=100, help="seed of the first machine")
    given = parser.parse_args()
    noise = Noise(process=given.process)
    seeds = range(given.first, given.first + given.machines)
    print(f"{given.machines} machines, processes differ by {given.process:.1%}\n")
    print("| asked | found \\[95 % interval\\] |\n| --- | --- |")
    machines = [Machine(seed, noise=noise) for seed in seeds]
    for asked, found in chain(compared(machines[:COMPARED]), rows(machines)):
        print(f"| {asked} | {found} |", flush=True)


if __name__ == "__main__":
    main()
