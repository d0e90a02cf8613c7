"""What an A/A run saw before a run widens that run's verdicts."""

from pathlib import Path
from typing import Any

from harness.analysis.claims import judge
from harness.analysis.claims.evidence import INCONCLUSIVE, SUPPORTED, Verdict
from harness.records.store import Run
from harness.records.tables import make_samples
from harness.report.view import make_view
from tests.support.sweep_tables import sweep, table_of

# Above 2, where only a power of T fits: a polynomial's exponent at the largest T is 2 at most.
RECORDS = sweep("naive", seconds=lambda case: 1e-9 * case.length_query**2.1)
NOISE = {"noise": {"spreads": {record.cell: 0.4 for record in RECORDS}}}


def time_verdict(facts: dict[str, Any]) -> Verdict:
    verdicts = judge(table_of(RECORDS), facts)
    return next(each for each in verdicts if each.claim == "C1" and each.series)


def test_a_noisy_machine_leaves_open_what_close_medians_would_settle() -> None:
    quiet, noisy = time_verdict({}), time_verdict(NOISE)
    assert (quiet.verdict, noisy.verdict) == (SUPPORTED, INCONCLUSIVE)
    assert "wide" in str(noisy.reason)


def test_a_report_fits_with_the_same_noise() -> None:
    widths = []
    for facts in ({}, NOISE):
        [fit] = make_view(Run(Path("made"), facts, table_of(RECORDS), make_samples([]))).fits
        assert fit.time is not None
        assert fit.time.low is not None
        assert fit.time.high is not None
        widths.append(fit.time.high - fit.time.low)
    assert widths[1] > 3 * widths[0]
