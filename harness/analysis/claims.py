"""Claims: the ledger of what is said about attention's cost, and the one door to judge it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from harness.analysis.cells import read_records
from harness.analysis.devices import device_rule
from harness.analysis.evidence import DENSE_MASKS, Claim, Evidence, Scope, missing
from harness.analysis.growth import DENSE, time_rule
from harness.analysis.masked import masked_rule
from harness.analysis.proportion import proportion_rule
from harness.analysis.races import ROWS, positions_rule, rowwise_rule
from harness.analysis.score_table import predicted_scores
from harness.analysis.series import fit_series, sweeps
from harness.analysis.storage import FUSED, STORING, fused_rule, storing_rule
from harness.analysis.verdict import Verdict, overall
from harness.case import MASK_CODES

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CLAIMS", "Claim", "Verdict", "judge", "overall", "predicted_scores"]

ANY_MASK = tuple(MASK_CODES)
MASKED = tuple(mask for mask in DENSE_MASKS if mask != "full")
T_SWEEP = "sweep of at least 4 values of T"


def judge(table: pd.DataFrame, facts: Mapping[str, Any]) -> list[Verdict]:
    """Return the verdicts of every claim on a run, in the order of the ledger.

    `facts` is the run's run.json. ValueError if two rows of the table are the same cell.
    """
    records = tuple(read_records(table))
    fits = tuple(fit_series(series) for series in sweeps(records))
    evidence = Evidence(records, fits, facts)
    for claim in CLAIMS:
        found = claim.rule(evidence, claim)
        found += missing(evidence, claim, found)
        evidence = replace(evidence, verdicts=(*evidence.verdicts, *found))
    return list(evidence.verdicts)


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "C1",
        "dense attention's time grows as T², fused or not",
        "time",
        T_SWEEP,
        "exponent 2",
        Scope(DENSE),
        partial(time_rule, expected=2.0),
    ),
    Claim(
        "C3",
        "storing the score matrix costs T² memory",
        "peak memory",
        T_SWEEP,
        "exponent 2, explained as a number of score matrices",
        Scope(STORING, ANY_MASK),
        storing_rule,
    ),
    Claim(
        "C4",
        "a fused kernel computes the same dense attention without storing T×T",
        "peak memory and time",
        T_SWEEP,
        "no T² term in the peak, while the time has exponent 2",
        Scope(FUSED),
        fused_rule,
    ),
    Claim(
        "C5",
        "score memory is proportional to B and to H",
        "peak memory",
        "sweep of at least 3 values of B and of H",
        "exponent 1",
        Scope(("naive",), ANY_MASK),
        proportion_rule,
    ),
    Claim(
        "C6",
        "row by row needs no T×T either, but gives up the one big product",
        "peak memory and time",
        T_SWEEP,
        "memory exponent 1, longer than together at every T",
        Scope((ROWS,)),
        rowwise_rule,
    ),
    Claim(
        "C7",
        "the positions of one layer are computed together",
        "time",
        "cell measured both together and row by row",
        "speed-up above 1 for every number of heads, one included",
        Scope((ROWS,)),
        positions_rule,
    ),
    Claim(
        "C9",
        "a causal or padding mask does not take the parallelism away",
        "time",
        "masked " + T_SWEEP,
        "exponent unchanged, masked together faster than masked row by row",
        Scope(DENSE, MASKED),
        masked_rule,
    ),
    Claim(
        "D-window",
        "a sliding window makes time linear",
        "time",
        "sliding-window " + T_SWEEP,
        "exponent 1",
        Scope(DENSE, ("sliding-window",)),
        partial(time_rule, expected=1.0),
    ),
    Claim(
        "C14",
        "agreement on a CPU says nothing about speed on a GPU",
        "device names",
        "row of the table",
        "every table and verdict names its device; none compares two",
        Scope(()),
        device_rule,
    ),
)
