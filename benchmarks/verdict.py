"""Verdict: whether the engine takes half the time of the best peer, and is right most often."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from benchmarks.truth import JOINED, KINDS, OURS

TARGET = 0.5
# A setting found by doubling got there once; to count it must get there in most later runs.
MOST_RUNS = 0.8
NAMES = {"hot": "hot", "turns": "in turns"}


def best_peer(costs: pd.DataFrame, column: str) -> str | None:
    """Return the cheapest peer that reaches the precision in most of its runs, or None."""
    peers = costs.drop(index=[name for name in OURS if name in costs.index])
    able = peers[peers["reached"] >= MOST_RUNS * peers["runs"]]
    return None if able.empty else str(able[column].astype(float).idxmin())


def sentences(costs: pd.DataFrame, truths: pd.DataFrame) -> Iterator[str]:
    """Yield what the tables say of the target, each time with both figures."""
    if "engine" not in costs.index:
        yield "The engine was not measured."
        return
    yield time_sentence(costs, "wall_s", "with the start of the processes", runs=1)
    yield time_sentence(costs, "measure_s", "from the first call to the last", runs=1)
    yield time_sentence(costs, "wall_s", "with the start of the processes", runs=JOINED)
    yield time_sentence(costs, "measure_s", "from the first call to the last", runs=JOINED)
    yield coverage_sentence(truths)


def time_sentence(costs: pd.DataFrame, column: str, what: str, *, runs: int) -> str:
    """Compare the engine's seconds with those of the best peer, run once or several times."""
    peer = best_peer(costs, column)
    times = "in one process" if runs == 1 else f"in {runs} processes, as the engine's are"
    if peer is None:
        return f"Time {what}, peer {times}: no peer reaches the precision in most of its runs."
    seconds = costs[column].astype(float)
    ours, theirs = seconds["engine"], seconds[peer] * runs
    ratio = ours / theirs
    met = "met" if ratio <= TARGET else "missed"
    return (
        f"Time {what}, peer {times}: {ours:.1f} s against {theirs:.1f} s of {peer}, "
        f"{ratio:.2f} times as long; target {TARGET:g}: **{met}**."
    )


def default_sentence(costs: pd.DataFrame, found: pd.DataFrame, cells: int) -> str:
    """Compare the engine with the cheapest peer that reaches the precision without being told."""
    start = "Time with the start of the processes, peers as they come"
    rows = found[~found.index.isin(OURS)] if len(found) else found
    able = rows[rows["reached"] >= MOST_RUNS * rows["cells"]] if len(rows) else rows
    if able.empty or "engine" not in costs.index:
        return f"{start}: none reaches the precision on most cells."
    seconds = able["wall_s"].astype(float) * cells
    peer, ours = str(seconds.idxmin()), costs["wall_s"].astype(float)["engine"]
    met = "met" if ours <= TARGET * seconds[peer] else "missed"
    return (
        f"{start}: {ours:.1f} s against {seconds[peer]:.1f} s of {peer}, "
        f"{ours / seconds[peer]:.2f} times as long; target {TARGET:g}: **{met}**."
    )


def coverage_sentence(truths: pd.DataFrame) -> str:
    """Compare the share of the engine's intervals that hold the reference with the best peer's.

    Each is held against what it measures; the share of the other reference is in brackets.
    """
    shares = pd.Series({name: own_share(row) for name, row in truths.iterrows()}, dtype=float)
    peers = shares.drop(index=[name for name in OURS if name in shares.index]).dropna()
    if peers.empty or pd.isna(shares.get("engine")):
        return "Coverage: nothing to compare."
    best, ours = str(peers.idxmax()), shares["engine"]
    met = "met" if ours >= peers[best] else "missed"
    engine, peer = (covered(truths.loc[[name]].iloc[0]) for name in ("engine", best))
    return (
        f"Coverage of the stated interval, each held against what it measures: "
        f"{engine} against {peer} of {best}; target, the best: **{met}**."
    )


def own_share(row: pd.Series[Any]) -> float:
    """Return the share of a tool's stated intervals that hold its own reference; NaN if none."""
    return share_of(row, row["own"])


def share_of(row: pd.Series[Any], kind: str) -> float:
    """Return the share of a tool's stated intervals that hold one reference; NaN if none."""
    intervals = row[f"{kind}_stated_of"]
    return float(row[f"{kind}_stated_held"] / intervals) if intervals else float("nan")


def covered(row: pd.Series[Any]) -> str:
    """Write both shares of a tool, its own first."""
    own = str(row["own"])
    [other] = [kind for kind in KINDS if kind != own]
    share = share_of(row, other)
    beside = "not measured" if pd.isna(share) else f"{share:.0%}"
    return (
        f"{own_share(row):.0%} {NAMES[own]} ({NAMES[other]}: {beside}) "
        f"at ±{row[f'{own}_stated_width']:.1%}"
    )
