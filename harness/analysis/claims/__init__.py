"""Claims: all that is said about attention, in one list, and the one door to judge it.

A family of claims has a file: each claim as data, and the rules that judge it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from harness.analysis.claims import (
    agreement,
    exact,
    features,
    generation,
    growth,
    key_heads,
    masks,
    memory,
    rowwise,
    training,
)
from harness.analysis.claims.evidence import Claim, Evidence, missing, place_of
from harness.analysis.claims.evidence import Verdict as Verdict
from harness.analysis.claims.evidence import overall as overall
from harness.analysis.fits.ratio import rounds_by_cell
from harness.analysis.fits.series import SeriesFit, fit_series, sweeps
from harness.records.noise import spreads_of
from harness.records.tables import findings_of, records_of

if TYPE_CHECKING:
    import pandas as pd

# A family that is not listed is not judged; claims without a number keep this order.
FAMILIES = (
    exact,
    agreement,
    key_heads,
    masks,
    growth,
    training,
    memory,
    features,
    rowwise,
    generation,
)
CLAIMS: tuple[Claim, ...] = tuple(
    sorted((claim for family in FAMILIES for claim in family.CLAIMS), key=place_of)
)


@dataclass(frozen=True)
class Judged:
    """Hold what is concluded from a run: a fit of every sweep, and a verdict on every claim."""

    fits: tuple[SeriesFit, ...]
    verdicts: tuple[Verdict, ...]


def judge_run(
    table: pd.DataFrame,
    facts: Mapping[str, Any],
    conformance: pd.DataFrame | None = None,
    *,
    samples: pd.DataFrame | None = None,
) -> Judged:
    """Fit every sweep of a run once, and judge every claim on it, in the order of CLAIMS.

    `facts` is the run's run.json, `conformance` its table of behaviours, `samples` its raw
    samples: with them ratios pair by round. ValueError if two rows of `table` are the same cell.
    """
    records = tuple(records_of(table))
    evidence = Evidence(
        records,
        tuple(fit_series(series) for series in sweeps(records, spreads_of(facts))),
        facts,
        conformance=() if conformance is None else tuple(findings_of(conformance)),
        rounds={} if samples is None else rounds_by_cell(samples),
    )
    for claim in CLAIMS:
        found = claim.rule(evidence, claim)
        found += missing(evidence, claim, verdicts=found)
        evidence = replace(evidence, verdicts=(*evidence.verdicts, *found))
    return Judged(evidence.fits, evidence.verdicts)


def judge(
    table: pd.DataFrame,
    facts: Mapping[str, Any],
    conformance: pd.DataFrame | None = None,
    *,
    samples: pd.DataFrame | None = None,
) -> list[Verdict]:
    """Return the verdicts of `judge_run` alone."""
    return list(judge_run(table, facts, conformance, samples=samples).verdicts)
