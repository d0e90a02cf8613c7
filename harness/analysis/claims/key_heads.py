"""Key heads: claims on shared key and value heads (D-gqa, D-gqa-time)."""

from __future__ import annotations

from collections import defaultdict

from harness.analysis.claims.agreement import agreement_part, is_asked
from harness.analysis.claims.evidence import (
    INCONCLUSIVE,
    NOTHING,
    REFUTED,
    SUPPORTED,
    Claim,
    Evidence,
    Part,
    Scope,
    Verdict,
    combine,
    series_of,
)
from harness.analysis.fits.ratio import Ratio, time_ratio
from harness.analysis.fits.series import SeriesKey, is_ok
from harness.cases.shape import ITEM_SIZES
from harness.records.record import Record

VALUES_LEAST = 3
# Of the bytes by which K and V shrink: a call that saves nearly all keeps no copy of them, one
# that saves next to nothing repeats them for every query head.
SAVED, COPIED = 0.9, 0.1

Sweep = dict[int, Record]


def bytes_rule(evidence: Evidence, claim: Claim) -> list[Verdict]:
    """Judge that fewer key heads take fewer bytes, inputs and peak together, and agree."""
    return [bytes_verdict(claim.id, sweep) for sweep in sweeps_of(evidence)]


def fewer_heads_rule(evidence: Evidence, claim: Claim) -> list[Verdict]:
    """Judge that a call with fewer key heads takes less time."""
    return [
        time_verdict(claim.id, timed)
        for sweep in sweeps_of(evidence)
        if len(timed := {g: cell for g, cell in sweep.items() if cell.time_median_s}) > 1
        and whole(timed)
    ]


def sweeps_of(evidence: Evidence) -> list[Sweep]:
    """Return {heads_kv: cell} of the widest sweep of each series, the last with all heads.

    All else is fixed; of sweeps with as many values the largest T counts.
    """
    groups: defaultdict[tuple[SeriesKey, int, int], Sweep] = defaultdict(dict)
    for cell in filter(is_asked, evidence.records):
        key = SeriesKey.of(cell).with_(heads_kv=1)
        groups[key, cell.length_query, cell.length_key][cell.heads_kv] = cell
    best: dict[str, Sweep] = {}
    for (key, *_), sweep in sorted(groups.items(), key=lambda item: (len(item[1]), item[0][1])):
        if len(sweep) >= VALUES_LEAST and whole(sweep):
            best[str(series_of(key))] = dict(sorted(sweep.items()))
    return [best[name] for name in sorted(best)]


def whole(sweep: Sweep) -> bool:
    """Whether a sweep holds the cell in which every query head has its own key head."""
    return next(iter(sweep.values())).heads in sweep


def key_bytes(cell: Record) -> int:
    """Count the bytes of K and V of a cell."""
    size = cell.batch * cell.heads_kv * cell.length_key * ITEM_SIZES[cell.dtype]
    return size * (cell.dim_key + cell.dim_value)


def bytes_verdict(claim: str, sweep: Sweep) -> Verdict:
    """Make the verdict of one sweep; observed is the saved share of the bytes to be saved."""
    cells = list(sweep.values())
    saved = saved_share(cells[0], cells[-1])
    part = combine([agreement_part(cells), saved_part(saved, cells)])
    return Verdict.on(
        claim,
        series_of(cells[0]),
        part=part.noting(shape(sweep)),
        text=f"{cells[0].backend} {part.reason if saved is None else saved_text(saved, cells)}",
        observed=NOTHING if saved is None else (saved,) * 3,
        expected=1.0,
    )


def saved_share(fewest: Record, most: Record) -> float | None:
    """Return by how much inputs and peak shrink, over what K and V alone shrink by."""
    if fewest.peak_bytes is None or most.peak_bytes is None:
        return None
    due = key_bytes(most) - key_bytes(fewest)
    return (due + most.peak_bytes - fewest.peak_bytes) / due


def saved_part(saved: float | None, cells: list[Record]) -> Part:
    """Judge the saved share."""
    if saved is None:
        return Part(INCONCLUSIVE, "no peak was measured")
    text = saved_text(saved, cells)
    if saved >= SAVED:
        return Part(SUPPORTED, text)
    if saved <= COPIED:
        return Part(REFUTED, f"{text}: the call repeats K and V for every query head")
    return Part(INCONCLUSIVE, text)


def saved_text(saved: float, cells: list[Record]) -> str:
    """Say how much of the bytes by which K and V shrink is saved in inputs and peak together."""
    heads = f"heads_kv {cells[-1].heads_kv} to {cells[0].heads_kv}"
    return f"saves {saved:.0%} of {due_bytes(cells):,} B of K and V, {heads}"


def due_bytes(cells: list[Record]) -> int:
    """Count the bytes by which K and V shrink from most to fewest heads."""
    return key_bytes(cells[-1]) - key_bytes(cells[0])


def time_verdict(claim: str, sweep: Sweep) -> Verdict:
    """Make the verdict of one sweep; observed is the ratio for the fewest key heads."""
    cells = [cell for cell in sweep.values() if is_ok(cell)]
    pairs = [(cell.heads_kv, time_ratio(cells[-1], cell)) for cell in cells[:-1]]
    part = faster_part([ratio for _, ratio in pairs])
    told = ", ".join(f"heads_kv={heads} {ratio}" for heads, ratio in pairs)
    first, heads = pairs[0][1], f"{cells[-1].heads_kv} key heads over {cells[0].heads_kv}"
    return Verdict.on(
        claim,
        series_of(cells[0]),
        part=Part(part.verdict, f"{part.reason}: {told}").noting(shape(sweep)),
        text=f"{cells[0].backend} {heads}: {first}",
        observed=(first.value, first.low, first.high),
        expected=1.0,
    )


def faster_part(ratios: list[Ratio]) -> Part:
    """Judge the time with all key heads over that with fewer: all above 1, or one below."""
    if any(ratio.high < 1 for ratio in ratios):
        return Part(REFUTED, "fewer key heads took longer")
    if all(ratio.low > 1 for ratio in ratios):
        return Part(SUPPORTED, "fewer key heads took less time")
    return Part(INCONCLUSIVE, "the intervals hold 1, so the order is open")


def shape(sweep: Sweep) -> str:
    """Say what was fixed."""
    cell = next(iter(sweep.values()))
    values = ", ".join(map(str, sweep))
    fixed = f"B={cell.batch} H={cell.heads} D={cell.dim_key} T={cell.length_query}"
    return f"heads_kv in {{{values}}}, {fixed}"


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="D-gqa",
        sentence="fewer key and value heads take fewer bytes and leave the answer right",
        quantity="input bytes, peak memory and agreement",
        series="sweep of at least 3 values of heads_kv",
        prediction="inputs + peak shrink by what K and V shrink by",
        scope=Scope(()),
        rule=bytes_rule,
        shown_in=("Heads and batch",),
    ),
    Claim(
        id="D-gqa-time",
        sentence="fewer key and value heads make a forward call faster",
        quantity="time",
        series="sweep of at least 3 values of heads_kv",
        prediction="time above 1x that of fewer heads; little, as the arithmetic is the same",
        scope=Scope(()),
        rule=fewer_heads_rule,
        shown_in=("Heads and batch",),
    ),
)
