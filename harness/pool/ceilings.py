"""Ceilings: what the device can do at most, and the cells that claim to do more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from harness.record import Record, Status

SECONDS = 0.2
# Twice the rate of the fastest matrix product of the device; looked at again a few times a run.
IMPOSSIBLE, SECOND_LOOKS = 2.0, 3
TIMES = (
    *("time_median_s", "time_low_s", "time_high_s", "time_min_s"),
    *("samples", "replicas", "replica_medians_s"),
)
# Measures {"flops_per_s": {dtype: FLOP/s}, ...} of some dtypes in so many seconds each.
Look = Callable[[list[str], float], dict[str, Any]]


class Ceilings:
    """Hold the measured rates of a matrix product, and judge rates by them."""

    def __init__(self, look: Look, dtypes: list[str]) -> None:
        self.look, self.dtypes = look, dtypes
        self.measured = look(dtypes, SECONDS)
        self.fastest = self._fastest(self.measured)
        self.looks_left = SECOND_LOOKS

    @staticmethod
    def _fastest(measured: dict[str, Any]) -> float:
        return max(measured.get("flops_per_s", {}).values(), default=0.0)

    def judge(self, record: Record) -> Record:
        """Add the rate over the ceiling of the same dtype; a cell far above all is an error.

        A kernel may well beat the product of its own dtype, which CPUs do slowly in half
        precision, so the fastest dtype decides. The ceiling was measured in one moment, and
        neighbours can halve what it saw: it is measured again before a cell is called too fast.
        """
        rate = (record.flops or 0) / record.time_median_s if record.time_median_s else 0.0
        while rate > IMPOSSIBLE * self.fastest > 0:
            if not self.looks_left:
                return too_fast(record, rate / self.fastest)
            self.looks_left -= 1
            self.fastest = max(self.fastest, self._fastest(self.look(self.dtypes, SECONDS)))
        ceiling = self.measured.get("flops_per_s", {}).get(record.dtype)
        return replace(record, rate_share=rate / ceiling) if rate and ceiling else record


def too_fast(record: Record, times: float) -> Record:
    """Return the record of a cell that took too little time to have computed anything."""
    reason = f"too fast to have computed it: {times:.3g} times the rate of a matrix product"
    untimed: dict[str, Any] = dict.fromkeys(TIMES)
    return replace(record, status=Status.ERROR.value, reason=reason, **untimed)
