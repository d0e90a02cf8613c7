"""The noise of an A/A run, on tables whose noise is known."""

import math
from typing import Any

import pytest

from harness.analysis.fits.laws import read_series
from harness.analysis.tracking.change import between_floor, smallest_change
from harness.analysis.tracking.noise import noise_table, noises, process_spread
from harness.cases.case import Case, cell_name
from harness.records.noise import COLUMNS, twin_of
from harness.records.record import Record, Status
from harness.records.tables import make_samples, make_table
from tests.support.sweep_tables import fits_of, series_of

CASE = Case.square(64)
LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096)


def timed(backend: str, *medians: float, case: Case = CASE, **fields: Any) -> Record:
    values: dict[str, Any] = {
        "status": "ok", "time_median_s": sorted(medians)[len(medians) // 2],
        "time_low_s": min(medians), "time_high_s": max(medians),
        "replica_medians_s": medians, "replicas": len(medians), "samples": 10,
    }  # fmt: skip
    cell = cell_name(backend, case)
    return Record(cell=cell, backend=backend, **case.as_dict(), **values | fields)


def pair(own: tuple[float, ...], other: tuple[float, ...], **fields: Any) -> list[Record]:
    return [timed("naive", *own, **fields), timed(twin_of("naive"), *other, **fields)]


def test_noise_of_the_process_cancels_within_a_run_and_stays_between_runs() -> None:
    [noise] = noises(pair((1.0, 2.0, 4.0), (1.0, 2.0, 4.0)))
    assert noise.cell == "naive.fwd-t64-h4-d64-f32-full"
    assert (noise.ratio, noise.low, noise.high) == pytest.approx((1.0, 1.0, 1.0))
    assert noise.floor_within == pytest.approx(0.0, abs=1e-12)
    # The logs 0, ln 2, 2 ln 2 have the standard deviation ln 2.
    assert noise.spread == pytest.approx(math.log(2))
    assert noise.floor_between == pytest.approx(between_floor(math.log(2), 3))
    assert noise.smallest_change == pytest.approx(smallest_change(math.log(2), 3))
    assert (noise.replicas, noise.samples, noise.noisy) == (3, 20, True)


def test_the_spread_sets_one_process_against_the_others() -> None:
    """Half the mean square of ln(A_i / B_j), i != j; A_i / B_i are one process and left out."""
    assert process_spread((1.0, 1.0, 1.0), (math.e, math.e, math.e)) == pytest.approx(0.5**0.5)
    assert process_spread((1.0, math.e), (math.e, 1.0)) == 0.003


def test_processes_that_agree_by_luck_are_not_believed() -> None:
    [noise] = noises(pair((1.0, 1.0, 1.0), (1.0, 1.0, 1.0)))
    assert noise.spread == 0.003
    assert noise.noisy is False


def test_a_twin_that_is_always_slower_shows_as_noise() -> None:
    [noise] = noises(pair((1.0, 1.0, 1.0), (1.3, 1.3, 1.3)))
    assert noise.ratio == pytest.approx(1.3)
    assert noise.floor_within == pytest.approx(0.3)
    assert noise.spread == pytest.approx(math.log(1.3) / math.sqrt(2))


def test_half_the_width_is_the_floor_within_a_run() -> None:
    [noise] = noises(pair((1.0, 1.0, 1.0), (1.02, 1.0, 0.98)))
    assert noise.low < 1 < noise.high
    assert noise.floor_within == pytest.approx((noise.high - noise.low) / 2, rel=0.01)
    assert 0.04 < noise.floor_within < 0.06  # t(0.975, 2) * 0.02 / sqrt(3) = 0.0497


def test_what_slows_a_round_cancels_within_a_run() -> None:
    """Rounds of 1 and of 10 s, but the twin's is 1 % longer in each; medians say 900 % or so."""
    own = [[1.0, 10.0, 10.0, 1.0, 10.0], [10.0, 1.0, 1.0, 10.0, 1.0], [1.0, 1.0, 1.0, 10.0, 10.0]]
    records = pair((10.0, 1.0, 1.0), (10.1, 1.01, 1.01))
    other = [[1.01 * seconds for seconds in rounds] for rounds in own]
    samples = make_samples(zip(records, (own, other), strict=True))
    [row] = noise_table(make_table(records), samples).itertuples()
    assert (row.ratio, row.low, row.high) == pytest.approx((1.01, 1.01, 1.01))
    assert row.floor_within == pytest.approx(0.01)
    assert row.floor_between > 1


@pytest.mark.parametrize(
    "records",
    [
        [timed("naive", 1.0, 1.0, 1.0)],
        pair((1.0, 1.0), (1.0, 1.0)),
        pair((1.0, 1.0, 1.0), (1.0, 1.0)),
        pair((1.0, 1.0, 1.0), (1.0, 1.0, 1.0), status=Status.CRASHED.value),
        [timed("naive", 1.0, 1.0, 1.0), timed("sdpa~twin", 1.0, 1.0, 1.0)],
        [],
    ],
    ids=["no twin", "two processes", "one lost", "crashed", "another's twin", "nothing"],
)
def test_cells_that_cannot_tell_have_no_row(records: list[Record]) -> None:
    table = noise_table(make_table(records), make_samples([]))
    assert table.empty
    assert list(table.columns) == list(COLUMNS)


def test_the_table_has_the_schema_and_a_row_for_each_cell() -> None:
    records = [
        record
        for length in (64, 128)
        for record in pair((1.0, 1.01, 1.02), (1.02, 1.0, 1.01), case=Case.square(length))
    ]
    table = noise_table(make_table(records), make_samples([]))
    kinds = {"str": "str", "float": "float64", "int": "int64", "bool": "bool"}
    assert [str(kind) for kind in table.dtypes] == [kinds[kind] for kind in COLUMNS.values()]
    assert list(table["cell"]) == [f"naive.fwd-t{t}-h4-d64-f32-full" for t in (64, 128)]


def test_a_point_is_never_surer_than_an_a_a_run_allows() -> None:
    medians = [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0], [4.0, 5.0, 3.0]]
    plain = read_series([1, 2, 4], medians)
    floored = read_series([1, 2, 4], medians, spreads=[0.0, 0.30, 0.03])
    assert list(plain.noise[:2]) == [0.01, 0.01]
    assert list(floored.noise) == pytest.approx([0.01, 0.30 / math.sqrt(3), 0.25 / math.sqrt(3)])
    # One process cannot know its own noise; an A/A run does.
    assert read_series([1], [[1.0]], spreads=[0.05]).noise[0] == pytest.approx(0.05)
    with pytest.raises(ValueError, match="3 lengths need as many values, got 1"):
        read_series([1, 2, 4], medians, spreads=[0.1])


def test_the_spread_of_a_cell_reaches_its_fit() -> None:
    records = [
        timed("naive", *(3 * [1e-9 * length**2 + 1e-6]), case=Case.square(length))
        for length in LENGTHS
    ]
    table = make_table(records)
    spreads = {records[-1].cell: 0.4, "another.cell": 0.9}
    [series] = series_of(table, spreads)
    assert series.spreads == (0.0,) * 6 + (0.4,)
    assert series.only([64, 4096]).spreads == (0.0, 0.4)
    widths = []
    for known in (None, {record.cell: 0.2 for record in records}):
        [fit] = fits_of(table, known)
        assert fit.time is not None
        assert fit.time.low is not None
        assert fit.time.high is not None
        assert fit.time.exponent == pytest.approx(2.0, abs=0.01)
        widths.append(fit.time.high - fit.time.low)
    assert widths[1] > 3 * widths[0]
