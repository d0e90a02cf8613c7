"""Time against the feature dims: lines supported, planted lies refuted, little data open (C2)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from harness.analysis.claims.features import FEATURE_AXES, features_rule, judge_line
from harness.analysis.fits.line import fit_line
from harness.cases.case import Case
from harness.records.record import Record
from tests.support.sweep_tables import Law, measured, verdicts_of

DIMS = (16, 32, 64, 128, 192, 256)


def law(case: Case) -> float:
    """Softmax over T² scores, and both products at 40 GFLOP/s."""
    return 2e-9 * case.heads * case.length_query**2 + case.flops() / 4e10


def over(
    axis: str, values: Sequence[int] = DIMS, *, seconds: Law = law, backend: str = "naive"
) -> list[Record]:
    cases = [Case.square(512).with_(**{axis: value}) for value in values]
    return [measured(backend, case, seconds=seconds) for case in cases]


def star() -> list[Record]:
    """Both sweeps; they share the cell in which d_k is d_v."""
    seen = {record.cell: record for axis in FEATURE_AXES for record in over(axis)}
    return list(seen.values())


def test_both_products_support_c2_each_in_its_own_dim() -> None:
    key, value = verdicts_of(star(), claim="C2")
    assert (key.verdict, value.verdict) == ("supported", "supported")
    assert key.low <= key.observed <= key.high
    # b·d over a + b·d at d = 256: 4·T²·2·256 / 4e10 beside the softmax and 64 other features.
    assert key.observed == pytest.approx(0.0134 / (0.0134 + 0.0034 + 0.0021), abs=0.02)
    assert "µs·d_k" in key.sentence
    assert "µs·d_v" in value.sentence
    assert "d_k in {16, 32, 64, 128, 192, 256}, B=1 H=4 d_v=64 T=512" in key.reason
    assert re.search(r"the slope is worth (4|4\.1|3\.9)e\+10 FLOP/s", key.reason)


def test_time_that_ignores_the_dim_refutes_c2() -> None:
    [verdict] = verdicts_of(over("dim_key", seconds=lambda case: 1e-3), claim="C2")
    assert verdict.verdict == "refuted"
    assert verdict.reason.startswith("flat: ")


def test_time_that_grows_as_the_square_refutes_c2() -> None:
    lie = over("dim_value", seconds=lambda case: 1e-4 + 1e-7 * case.dim_value**2)
    [verdict] = verdicts_of(lie, claim="C2")
    assert verdict.verdict == "refuted"
    assert "curved: time grows as d_v^2." in verdict.reason or "d_v^1.9" in verdict.reason


def test_a_term_below_half_is_left_open() -> None:
    small = over("dim_key", seconds=lambda case: 1e-2 + 1e-5 * case.dim_key)
    [verdict] = verdicts_of(small, claim="C2")
    assert verdict.verdict == "inconclusive"
    assert verdict.reason.startswith("small: the d_k term is 2")


@pytest.mark.parametrize("values", [(32, 64, 128), (64, 80, 96, 112, 128)])
def test_few_values_or_a_short_range_are_left_open(values: tuple[int, ...]) -> None:
    [verdict] = verdicts_of(over("dim_key", values), claim="C2")
    assert verdict.verdict == "inconclusive"
    assert verdict.reason.startswith("few: ")
    assert verdict.observed is None


def test_no_sweep_is_not_measured() -> None:
    [verdict] = verdicts_of(over("dim_key", (64, 128)), claim="C2")
    assert verdict.verdict == "not_measured"
    assert "no sweep of at least 5 values of d_k or d_v" in verdict.reason


def test_another_kernel_is_another_sweep() -> None:
    records = over("dim_key")
    records[2] = replace(records[2], kernel="flash", replica_medians_s=(1.0, 1.0, 1.0))
    [verdict] = verdicts_of(records, claim="C2")
    assert verdict.verdict == "supported"
    assert "64" not in verdict.reason.split("{")[1].split("}")[0]


def test_a_slow_smallest_value_is_dropped_and_a_wobble_widens() -> None:
    dims = np.array(DIMS)
    times = 1e-3 + 2e-5 * dims
    times[0] *= 1.5
    fit = fit_line(DIMS, [[value] * 3 for value in times])
    assert fit.values == DIMS[1:]
    assert fit.slope_s[0] == pytest.approx(2e-5, rel=1e-3)
    wobble = 1 + 0.04 * np.array([1, -1, 1, -1, 1, -1])
    wide = fit_line(DIMS, [[value] * 3 for value in (1e-3 + 2e-5 * dims) * wobble])
    assert wide.slope_s[2] - wide.slope_s[1] > 2 * (fit.slope_s[2] - fit.slope_s[1])
    assert judge_line(wide, "d_k").verdict == "supported"


def test_replicas_that_differ_widen_the_interval() -> None:
    line = 1e-3 + 2e-5 * np.array(DIMS)
    same = fit_line(DIMS, [[value] * 3 for value in line])
    apart = fit_line(DIMS, [[value, 1.2 * value, 1.4 * value] for value in line])
    assert apart.slope_s[2] - apart.slope_s[1] > 5 * (same.slope_s[2] - same.slope_s[1])


def test_the_rule_names_no_series_twice() -> None:
    found = [verdict.sentence for verdict in verdicts_of(star(), claim="C2")]
    assert len(set(found)) == len(found) == 2
    assert features_rule.__doc__
