"""Claims: all that is said about attention, in one list, and the one door to judge it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from harness.analysis.claims.evidence import (
    DENSE_MASKS,
    NOT_MEASURED,
    REFUTED,
    SUPPORTED,
    Claim,
    Evidence,
    Part,
    Scope,
    Verdict,
    missing,
    no_series,
    overall,
)
from harness.analysis.claims.exact import (
    ALIBI,
    CROSS,
    EXACT,
    NUMERICAL,
    alibi_rule,
    concord_rule,
    read_findings,
)
from harness.analysis.claims.features import features_rule, proportion_rule
from harness.analysis.claims.generation import RECURRENCE_COST, WORK_ANSWERS, WORK_COSTS
from harness.analysis.claims.growth import DENSE, MASKING, SKIPPING, time_rule, window_rule
from harness.analysis.claims.key_heads import bytes_rule, fewer_heads_rule
from harness.analysis.claims.masks import PACKED, masked_rule, varlen_rule
from harness.analysis.claims.memory import (
    FUSED,
    STORING,
    fused_rule,
    predicted_scores,
    storing_rule,
)
from harness.analysis.claims.rowwise import ROWS, positions_rule, rowwise_rule
from harness.analysis.claims.training import TRAINING
from harness.analysis.fits.ratio import rounds_by_cell
from harness.analysis.fits.series import fit_series, read_records, sweeps
from harness.cases.masks import MASK_CODES, MASKS
from harness.records.noise import spreads_of
from harness.records.record import Record

if TYPE_CHECKING:
    import pandas as pd


def device_rule(evidence: Evidence, claim: Claim) -> list[Verdict]:
    """Judge C14: every cell and every verdict reached before names the one device it is of."""
    if not evidence.records:
        return []
    part = names_part(evidence)
    names = ", ".join(sorted({cell.device for cell in evidence.records if cell.device}))
    run = f"run {evidence.facts['run']}" if evidence.facts.get("run") else ""
    notes = ("a ratio of times on two devices is refused", run)
    where = no_series(device=names or None)
    return [Verdict.on(claim.id, where, part=part.noting(*notes), text=part.reason)]


def names_part(evidence: Evidence) -> Part:
    """Count the cells and the verdicts that name no device."""
    measured = [each for each in evidence.verdicts if each.verdict != NOT_MEASURED]
    nameless = [cell.cell for cell in evidence.records if not cell.device]
    nameless += [each.claim for each in measured if not each.series["device"]]
    if nameless:
        text = f"{len(nameless)} cells or verdicts name no device, {nameless[0]} first"
        return Part(REFUTED, text)
    text = f"{len(evidence.records)} cells and {len(measured)} verdicts each name one device"
    return Part(SUPPORTED, text)


WINDOW_SWEEP = "sliding-window sweep of at least 4 values of T"


def is_crossed(record: Record) -> bool:
    """Whether the queries are of another sequence than the keys: their lengths differ."""
    return record.work == "attention" and record.length_query != record.length_key


BEYOND: tuple[Claim, ...] = (
    Claim(
        id="D-alibi",
        sentence="ALiBi adds a bias that is linear in the distance: right, and at what cost",
        quantity="agreement and time",
        series="cell under mask alibi",
        prediction="agrees; the time over plain causal is printed",
        scope=Scope(("*",), (ALIBI,)),
        rule=alibi_rule,
    ),
    Claim(
        id="D-cross",
        sentence="cross-attention is right for fewer and for more queries than keys",
        quantity="agreement",
        series="cell with Tq != Tk",
        prediction="every cell agrees",
        scope=Scope(()),
        rule=partial(concord_rule, chosen=is_crossed),
    ),
    Claim(
        id="D-gqa",
        sentence="fewer key and value heads take fewer bytes and leave the answer right",
        quantity="input bytes, peak memory and agreement",
        series="sweep of at least 3 values of heads_kv",
        prediction="inputs + peak shrink by what K and V shrink by",
        scope=Scope(()),
        rule=bytes_rule,
    ),
    Claim(
        id="D-gqa-time",
        sentence="fewer key and value heads make a forward call faster",
        quantity="time",
        series="sweep of at least 3 values of heads_kv",
        prediction="time above 1x that of fewer heads; little, as the arithmetic is the same",
        scope=Scope(()),
        rule=fewer_heads_rule,
    ),
    Claim(
        id="D-varlen",
        sentence="packing sequences without their padding takes less time than padding them",
        quantity="agreement and time",
        series="cell timed both padded and packed",
        prediction="real tokens agree; padded time over packed above 1",
        scope=Scope((PACKED,)),
        rule=varlen_rule,
    ),
    Claim(
        id="D-window",
        sentence="a sliding window makes time linear where hidden keys are skipped",
        quantity="time",
        series=WINDOW_SWEEP,
        prediction="exponent 1, so that 2 is refuted",
        scope=Scope(SKIPPING, ("sliding-window",)),
        rule=partial(window_rule, expected=1.0, other=2.0),
    ),
    Claim(
        id="D-window-mask",
        sentence="a sliding window laid over T×T as a mask saves nothing: time stays T²",
        quantity="time",
        series=WINDOW_SWEEP,
        prediction="exponent 2, so that 1 is refuted",
        scope=Scope(MASKING, ("sliding-window",)),
        rule=partial(window_rule, expected=2.0, other=1.0),
    ),
)


__all__ = ["CLAIMS", "Claim", "Verdict", "judge", "overall", "predicted_scores"]

ANY_MASK = tuple(MASK_CODES)
MASKED = tuple(name for name in DENSE_MASKS if name != "full" and not MASKS[name].biased)
T_SWEEP = "sweep of at least 4 values of T"


def judge(
    table: pd.DataFrame,
    facts: Mapping[str, Any],
    conformance: pd.DataFrame | None = None,
    *,
    samples: pd.DataFrame | None = None,
) -> list[Verdict]:
    """Return the verdicts of every claim on a run, in the order of the ledger.

    `facts` is the run's run.json, `conformance` its table of behaviours, `samples` its raw
    samples: with them ratios pair by round. ValueError if two rows of `table` are the same cell.
    """
    records = tuple(read_records(table))
    fits = tuple(fit_series(series) for series in sweeps(records, spreads_of(facts)))
    evidence = Evidence(
        records,
        fits,
        facts,
        conformance=read_findings(conformance),
        rounds={} if samples is None else rounds_by_cell(samples),
    )
    for claim in CLAIMS:
        found = claim.rule(evidence, claim)
        found += missing(evidence, claim, verdicts=found)
        evidence = replace(evidence, verdicts=(*evidence.verdicts, *found))
    return list(evidence.verdicts)


CLAIMS: tuple[Claim, ...] = (
    *EXACT,
    *WORK_ANSWERS,
    *CROSS,
    *NUMERICAL,
    Claim(
        id="C1",
        sentence="dense attention's time grows as T², fused or not",
        quantity="time",
        series=T_SWEEP,
        prediction="exponent 2",
        scope=Scope(DENSE),
        rule=partial(time_rule, expected=2.0),
    ),
    Claim(
        id="C2",
        sentence="the scores cost T²·d_k, the weighted sum T²·d_v",
        quantity="time",
        series="sweep of at least 5 values of d_k or d_v at one T",
        prediction="time = a + b·d for each dim, more than half of it linear at the largest",
        scope=Scope((*DENSE, ROWS), ANY_MASK),
        rule=features_rule,
    ),
    Claim(
        id="C3",
        sentence="storing the score matrix costs T² memory",
        quantity="peak memory",
        series=T_SWEEP,
        prediction="exponent 2, explained as a number of score matrices",
        scope=Scope(STORING, ANY_MASK),
        rule=storing_rule,
    ),
    Claim(
        id="C4",
        sentence="a fused kernel computes the same dense attention without storing T×T",
        quantity="peak memory and time",
        series=T_SWEEP,
        prediction="no T² term in the peak, while the time has exponent 2",
        scope=Scope(FUSED),
        rule=fused_rule,
    ),
    Claim(
        id="C5",
        sentence="score memory is proportional to B and to H",
        quantity="peak memory",
        series="sweep of at least 3 values of B and of H",
        prediction="exponent 1",
        scope=Scope(("naive",), ANY_MASK),
        rule=proportion_rule,
    ),
    Claim(
        id="C6",
        sentence="row by row needs no T×T either, but gives up the one big product",
        quantity="peak memory and time",
        series=T_SWEEP,
        prediction="memory exponent 1, longer than together at every T",
        scope=Scope((ROWS,)),
        rule=rowwise_rule,
    ),
    Claim(
        id="C7",
        sentence="the positions of one layer are computed together",
        quantity="time",
        series="cell measured both together and row by row",
        prediction="speed-up above 1 for every number of heads, one included",
        scope=Scope((ROWS,)),
        rule=positions_rule,
    ),
    *RECURRENCE_COST,
    Claim(
        id="C9",
        sentence="a causal or padding mask does not take the parallelism away",
        quantity="time",
        series="masked " + T_SWEEP,
        prediction="exponent unchanged, masked together faster than masked row by row",
        scope=Scope(DENSE, MASKED),
        rule=masked_rule,
    ),
    *WORK_COSTS,
    *BEYOND,
    *TRAINING,
    Claim(
        id="C14",
        sentence="agreement on a CPU says nothing about speed on a GPU",
        quantity="device names",
        series="row of the table",
        prediction="every table and verdict names its device; none compares two",
        scope=Scope(()),
        rule=device_rule,
    ),
)
