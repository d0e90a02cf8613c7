"""A cell that claims more than the device can do is an error, unless the ceiling was wrong."""

from typing import Any

import pytest

from harness.records.record import Record
from harness.run.ceilings import Ceilings

GIGA = 1e9


class Product:
    """A matrix product whose rates are given in advance, in GFLOP/s."""

    def __init__(self, *rates: float) -> None:
        self.rates, self.looks = list(rates), 0

    def __call__(self, dtypes: list[str], seconds: float) -> dict[str, Any]:
        self.looks += 1
        rate = self.rates.pop(0) if len(self.rates) > 1 else self.rates[0]
        return {"flops_per_s": {"float32": rate * GIGA, "bfloat16": rate * GIGA / 50}}


def cell(rate: float, dtype: str = "float32") -> Record:
    """A cell of 1 GFLOP at so many GFLOP/s."""
    return Record(
        cell="a.x", backend="a", dtype=dtype, status="ok", flops=10**9, time_median_s=1 / rate,
        time_low_s=0.9 / rate, replicas=3, peak_bytes=7,
    )  # fmt: skip


def judged(ceilings: Ceilings, record: Record) -> Record:
    ceilings.recheck_too_fast(record)
    return ceilings.judge(record)


def test_a_rate_below_the_ceiling_is_a_share_of_it() -> None:
    ceilings = Ceilings(Product(60), ["float32"])
    assert judged(ceilings, cell(30)).rate_share == pytest.approx(0.5)
    assert ceilings.measure.looks == 1  # type: ignore[attr-defined]


def test_twice_the_rate_of_a_product_is_an_error_without_a_time() -> None:
    ceilings = Ceilings(Product(60), ["float32"])
    found = judged(ceilings, cell(150))
    assert found.status == "error"
    assert found.reason == ("too fast to have computed it: 2.5 times the rate of a matrix product")
    assert (found.time_median_s, found.time_low_s, found.replicas) == (None, None, None)
    assert found.peak_bytes == 7
    assert judged(ceilings, cell(119)).status == "ok"


def test_a_ceiling_that_neighbours_halved_is_measured_again() -> None:
    product = Product(20, 25, 60)
    ceilings = Ceilings(product, ["float32"])
    assert judged(ceilings, cell(55)).status == "ok"
    assert product.looks == 3
    assert judged(ceilings, cell(100)).status == "ok", "60 is remembered"
    assert product.looks == 3


def test_second_looks_are_bounded() -> None:
    product = Product(60)
    ceilings = Ceilings(product, ["float32"])
    assert [judged(ceilings, cell(10_000)).status for _ in range(50)] == ["error"] * 50
    assert product.looks == 4


def test_half_precision_may_beat_its_own_product() -> None:
    found = judged(Ceilings(Product(60), ["float32", "bfloat16"]), cell(30, "bfloat16"))
    assert found.status == "ok"
    assert found.rate_share == pytest.approx(25)


def test_a_cell_without_a_time_is_left_alone() -> None:
    record = Record(cell="a.x", backend="a", status="crashed", flops=10**9)
    assert judged(Ceilings(Product(60), ["float32"]), record) == record
