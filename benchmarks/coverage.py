"""Coverage: print, as Markdown, how well the intervals and ratios keep what they promise.

Run from a clone: `python -m benchmarks.coverage`; about three minutes of one core.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from tests.support.interval_coverage import cover, laws, share
from tests.support.simulated_machine import held_when_stopped, told_apart
from tests.support.timed_calls import KNOWN_NS, spin_errors

TRIALS = 2000
COUNTS = (12, 30, 100)
REPLICAS = (1, 2, 3, 5, 8)
# (replicas, target): the grids quick, nightly, and standard or full; then five and eight of them.
SETTINGS = ((3, 0.02), (3, 0.01), (3, 0.005), (5, 0.02), (5, 0.01), (5, 0.005), (8, 0.01))
OWN = (0.0, 0.002, 0.005, 0.01)


def percent(hits: int, trials: int) -> str:
    """Write a share with its 95 % interval, in percent."""
    middle, low, high = (100 * each for each in share(hits, trials))
    return f"{middle:.1f} [{low:.1f}, {high:.1f}]"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """Print a table in Markdown."""
    names = list(head)
    for row in (names, ["---"] * len(names), *rows):
        print("| " + " | ".join(row) + " |")
    print()


def coverage_table() -> None:
    """Print the coverage by law and rounds, in one process and over three."""
    rows = []
    for law in laws():
        for count in COUNTS:
            seen = cover(law, count=count, replicas=3, trials=TRIALS)
            ends = (percent(hits, TRIALS) for hits in (seen.within, seen.across))
            rows.append([law.name, str(count), *ends])
    table(["samples", "rounds", "one process, %", "three processes, %"], rows)


def replica_table() -> None:
    """Print the coverage by the number of processes, where processes differ."""
    [law] = [law for law in laws() if law.name == "processes differ by 3 %"]
    seen = [cover(law, count=60, replicas=number, trials=TRIALS) for number in REPLICAS]
    table(
        ["processes", *(str(one.replicas) for one in seen)],
        [["covered, %", *(percent(one.across, TRIALS) for one in seen)]],
    )


def stopping_table() -> None:
    """Print the coverage as the stopping rule leaves it."""
    rows = []
    for target in (0.02, 0.01):
        found = (percent(hits, TRIALS) for hits in held_when_stopped(target, trials=TRIALS))
        rows.append([f"{100 * target:g} %", *found])
    table(["stops at", "one process, %", "three processes, %"], rows)


def twins_table(trials: int = 200) -> None:
    """Print how many twins are told apart: 3 % slower and equal."""
    rows = []
    for own in OWN:
        for replicas, target in SETTINGS:
            seen = told_apart(replicas=replicas, target=target, own=own, trials=trials)
            ends = (percent(hits, trials) for hits in (seen.slower, seen.equal))
            words = [f"{100 * own:g} %", str(replicas), f"{100 * target:g} %"]
            rows.append([*words, f"{seen.rounds:.0f}", *ends])
    head = ["own spread", "processes", "stops at", "rounds", "3 % slower, %", "equal, %"]
    table(head, rows)


def truth_table(times: int = 20) -> None:
    """Print how far a known time is from what is measured: the middle and the worst of 20."""
    found = [spin_errors(KNOWN_NS, seed) for seed in range(times)]
    rows = []
    for ns in KNOWN_NS:
        off = [100 * abs(one[ns]) for one in found]
        rows.append([f"{ns / 1e3:g} us", f"{median(off):.3f}", f"{max(off):.3f}"])
    table(["spin", "off by, %", "worst of 20, %"], rows)


if __name__ == "__main__":
    for each in (truth_table, twins_table, coverage_table, replica_table, stopping_table):
        print(f"{each.__name__.removesuffix('_table')}\n")
        each()
