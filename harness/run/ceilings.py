"""Ceilings: what a device can do at most, and the cells that claim more than that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from harness.records.record import Record, Status

SECONDS = 0.2
# Twice the rate of the fastest matrix product of the device.
IMPOSSIBLE = 2.0
MOST_RECHECKS = 3
TIMES = (
    *("time_median_s", "time_low_s", "time_high_s", "time_min_s"),
    *("samples", "replicas", "replica_medians_s"),
)
# Measures {"flops_per_s": {dtype: FLOP/s}, ...} of some dtypes in so many seconds each.
Measure = Callable[[list[str], float], dict[str, Any]]


class Ceilings:
    """Hold the measured rates of a matrix product, and judge the rates of cells by them.

    A kernel may well beat the product of its own dtype, which CPUs do slowly in half precision,
    so the fastest dtype decides what is too fast.
    """

    def __init__(self, measure: Measure, dtypes: list[str]) -> None:
        self.measure, self.dtypes = measure, dtypes
        self.measured = measure(dtypes, SECONDS)
        self.fastest = fastest(self.measured)
        self.rechecks_left = MOST_RECHECKS

    def recheck_too_fast(self, record: Record) -> None:
        """Measure the ceilings again, a few times a run, before a cell is called too fast.

        They were measured in one moment, and neighbours can halve what that saw. This keeps a
        worker busy for a moment; for any other cell it does nothing.
        """
        while self.is_too_fast(record) and self.rechecks_left:
            self.rechecks_left -= 1
            self.fastest = max(self.fastest, fastest(self.measure(self.dtypes, SECONDS)))

    def is_too_fast(self, record: Record) -> bool:
        """Whether a cell ran far above the fastest product that was ever seen here."""
        return rate_of(record) > IMPOSSIBLE * self.fastest > 0

    def judge(self, record: Record) -> Record:
        """Add the rate over the ceiling of the same dtype; a cell that is too fast is an error."""
        rate = rate_of(record)
        if self.is_too_fast(record):
            return too_fast(record, rate / self.fastest)
        ceiling = self.measured.get("flops_per_s", {}).get(record.dtype)
        return replace(record, rate_share=rate / ceiling) if rate and ceiling else record


def fastest(measured: dict[str, Any]) -> float:
    """Return the highest rate of a product in any dtype, in FLOP/s; 0 if none was measured."""
    return max(measured.get("flops_per_s", {}).values(), default=0.0)


def rate_of(record: Record) -> float:
    """Return FLOP/s of a cell; 0 without a time."""
    return (record.flops or 0) / record.time_median_s if record.time_median_s else 0.0


def too_fast(record: Record, times: float) -> Record:
    """Return the record of a cell that took too little time to have computed anything."""
    reason = f"too fast to have computed it: {times:.3g} times the rate of a matrix product"
    untimed: dict[str, Any] = dict.fromkeys(TIMES)
    return replace(record, status=Status.ERROR.value, reason=reason, **untimed)
