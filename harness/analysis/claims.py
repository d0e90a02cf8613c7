"""Claims: the ledger of what is said about attention's cost, and the one door to judge it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from harness.analysis.beyond import BEYOND
from harness.analysis.cells import read_records
from harness.analysis.devices import device_rule
from harness.analysis.evidence import DENSE_MASKS, Claim, Evidence, Scope, missing
from harness.analysis.exact import read_findings
from harness.analysis.exact_claims import CROSS, EXACT, NUMERICAL
from harness.analysis.features import features_rule
from harness.analysis.growth import DENSE, time_rule
from harness.analysis.masked import masked_rule
from harness.analysis.proportion import proportion_rule
from harness.analysis.races import ROWS, positions_rule, rowwise_rule
from harness.analysis.ratio import rounds_by_cell
from harness.analysis.score_table import predicted_scores
from harness.analysis.series import fit_series, sweeps
from harness.analysis.storage import FUSED, STORING, fused_rule, storing_rule
from harness.analysis.training import TRAINING
from harness.analysis.verdict import Verdict, overall
from harness.analysis.works import RECURRENCE_COST, WORK_ANSWERS, WORK_COSTS
from harness.case import MASK_CODES
from harness.noise import spreads_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CLAIMS", "Claim", "Verdict", "judge", "overall", "predicted_scores"]

ANY_MASK = tuple(MASK_CODES)
MASKED = tuple(mask for mask in DENSE_MASKS if mask not in ("full", "alibi"))
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
