"""Numbers as people read them: seconds, bytes, rates, ratios and intervals; pure functions.

Absent values (None, NaN, NA) become `-`: a table never shows a zero for what was not measured.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from harness.records.store import finite

ABSENT = "-"
SECONDS = ((1e-6, "µs"), (1e-3, "ms"), (1.0, "s"))
BYTES = ((1.0, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB"))
RATES = (
    (1.0, "FLOP/s"), (1e3, "kFLOP/s"), (1e6, "MFLOP/s"), (1e9, "GFLOP/s"), (1e12, "TFLOP/s"),
    (1e15, "PFLOP/s"),
)  # fmt: skip
EXACT_BYTES = 10_000


def number(value: Any) -> float | None:
    """Return a finite float, or None for everything that holds no number (None, NA, NaN, inf)."""
    try:
        return finite(float(value))
    except (TypeError, ValueError):
        return None


def significant(value: float, *, digits: int = 3) -> str:
    """Write a value with so many significant digits, thousands parted by commas, no exponent."""
    if value == 0:
        return "0"
    rounded = float(f"{value:.{digits - 1}e}")
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    return f"{rounded:,.{decimals}f}"


def seconds(value: Any, *, digits: int = 3) -> str:
    """Write a time in µs, ms or s."""
    return _scaled(value, SECONDS, digits)


def trimmed(text: str) -> str:
    """Drop the trailing zeros of a number that is known to be round, as on an axis: `50 µs`."""
    digits, blank, unit = text.partition(" ")
    short = digits.rstrip("0").rstrip(".") if "." in digits else digits
    return f"{short}{blank}{unit}"


def rate(value: Any, *, digits: int = 3) -> str:
    """Write a rate in FLOP/s with a decimal prefix."""
    return _scaled(value, RATES, digits)


def size(value: Any, *, digits: int = 3) -> str:
    """Write bytes with decimal prefixes (1 MB = 10^6 B).

    Below 10,000 B every byte is shown. `2 MB` is exact, `2.00 MB` is rounded.
    """
    count = number(value)
    if count is None:
        return ABSENT
    if abs(count) < EXACT_BYTES:
        return f"{count:,.0f} B"
    unit, name = _unit(count, BYTES, digits)
    if Decimal(significant(count / unit, digits=digits).replace(",", "")) * int(unit) == int(
        count
    ):
        return f"{count / unit:,.{digits}f}".rstrip("0").rstrip(".") + f" {name}"
    return f"{significant(count / unit, digits=digits)} {name}"


def ratio(value: Any, *, digits: int = 3) -> str:
    """Write how many times as large or as fast one thing is as another."""
    plain = number(value)
    return ABSENT if plain is None else f"{significant(plain, digits=digits)}×"


def percent(value: Any, *, digits: int = 2) -> str:
    """Write a share of 1 in percent; above 100 % no digit is rounded to zero."""
    plain = number(value)
    if plain is None:
        return ABSENT
    share = 100 * plain
    return f"{share:,.0f} %" if abs(share) >= 100 else f"{significant(share, digits=digits)} %"


def count(value: Any) -> str:
    """Write a whole number with its thousands parted by commas."""
    plain = number(value)
    return ABSENT if plain is None else f"{plain:,.0f}"


def decimals_of(low: float, high: float) -> int:
    """Return how many decimals an interval earns: as many as its half-width has leading zeros."""
    half = (high - low) / 2
    return 2 if half <= 0 else min(3, max(0, -math.floor(math.log10(half))))


def interval(value: Any, low: Any, high: Any) -> str:
    """Write an estimate and its interval, `2.08 [2.05, 2.11]`, to its own digits.

    However wide the interval is, two digits of the estimate stay: `1.3 [0.9, 2.8]`.
    """
    middle, left, right = number(value), number(low), number(high)
    if middle is None:
        return ABSENT
    if left is None or right is None:
        return significant(middle)
    least = 0 if middle == 0 else 1 - math.floor(math.log10(abs(middle)))
    places = min(3, max(decimals_of(left, right), least, 0))
    return f"{middle:,.{places}f} [{left:,.{places}f}, {right:,.{places}f}]"


def ratio_interval(value: Any, low: Any, high: Any) -> str:
    """Write a ratio and its interval: `1.86× [1.85, 1.89]`."""
    middle, blank, bounds = interval(value, low, high).partition(" ")
    return ABSENT if middle == ABSENT else f"{middle}×{blank}{bounds}"


def duration(value: Any) -> str:
    """Write the length of a run: `48 s`, `3 min 12 s`, `2 h 05 min`."""
    plain = number(value)
    if plain is None:
        return ABSENT
    whole = round(plain)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def _unit(value: float, units: tuple[tuple[float, str], ...], digits: int) -> tuple[float, str]:
    """Pick the unit in which the rounded value has one to three digits before the point."""
    rounded = abs(float(f"{value:.{digits - 1}e}"))
    fitting = [unit for unit in units if rounded >= unit[0]]
    return fitting[-1] if fitting else units[0]


def _scaled(value: Any, units: tuple[tuple[float, str], ...], digits: int) -> str:
    plain = number(value)
    if plain is None:
        return ABSENT
    unit, name = _unit(plain, units, digits)
    return f"{significant(plain / unit, digits=digits)} {name}"
