"""Fits in words: which fit belongs to a row, its exponent, its law, its score matrices."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from harness.case import ITEM_SIZES
from harness.report import units
from harness.report.panels import Panel

if TYPE_CHECKING:
    from harness.analysis.series import SeriesFit

FitIndex = dict[tuple[Panel, str], "SeriesFit"]
REASONS = {"few": "too few lengths", "floor": "near the floor", "misfit": "no law fits"}


def index_fits(fits: Iterable[SeriesFit]) -> FitIndex:
    """Find fits by panel and backend; where a kernel changed, the part with the longest T."""
    ordered = sorted(fits, key=lambda fit: max(fit.series.lengths, default=0))
    return {(Panel.of(fit.series.key), fit.series.key.backend): fit for fit in ordered}


def exponent_text(found: SeriesFit | None) -> str:
    """Write the exponent of time with its interval, and why it does not count if so."""
    fit = found.time if found else None
    if fit is None:
        return units.ABSENT
    text = units.interval(fit.exponent, fit.low, fit.high)
    if fit.reason is None:
        return text
    reason = REASONS.get(fit.reason, fit.reason)
    return reason if text == units.ABSENT else f"{text} ({reason})"


def exponent_note(found: SeriesFit | None) -> str:
    """Write the exponent for a legend: the interval, or in its place why it does not count."""
    fit = found.time if found else None
    if fit is None:
        return units.ABSENT
    if fit.reason is not None:
        return REASONS.get(fit.reason, fit.reason)
    return units.interval(fit.exponent, fit.low, fit.high)


def matrices_of(found: SeriesFit | None, panel: Panel) -> float | None:
    """Return the score matrices alive at the peak: the T² term over the bytes of one."""
    fit = found.memory if found else None
    itemsize = ITEM_SIZES.get(panel.dtype)
    if fit is None or itemsize is None or fit.reason is not None:
        return None
    return units.number(
        fit.score_matrices(batch=panel.batch, heads=panel.heads, itemsize=itemsize)
    )


def matrices_text(found: SeriesFit | None, panel: Panel) -> str:
    """Write the number of score matrices: `2.00`, or `none` for a peak without a T² term."""
    count = matrices_of(found, panel)
    if count is None:
        return units.ABSENT
    return "none" if abs(count) < 0.005 else f"{count:.2f}"


def law_text(found: SeriesFit | None) -> str:
    """Write the law of the peak in bytes: `32 T² + 1,028 T + 4`."""
    fit = found.memory if found else None
    if fit is None or fit.reason is not None:
        return units.ABSENT
    powers = zip(reversed(fit.coefficients), (" T²", " T", ""), strict=True)
    terms = [f"{_coefficient(value)}{power}" for value, power in powers if abs(value) >= 5e-4]
    return " + ".join(terms).replace("+ -", "- ") or "0"


def _coefficient(value: float) -> str:
    nearest = round(value)
    return f"{nearest:,}" if abs(value - nearest) < 5e-4 else units.significant(value, digits=4)
