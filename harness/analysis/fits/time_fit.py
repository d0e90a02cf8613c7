"""Fit the growth of time with length: which law, which exponent, how sure, over which range."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from harness.analysis.fits.choice import (
    Choice,
    bootstrap_interval,
    choose,
    hockney,
    plausible_jump,
    quadratic_share,
    rivals,
    shorten,
)
from harness.analysis.fits.laws import TERMS, Curves, Series, check_lengths, read_series

# At the smallest length a call is nearly all overhead; growth below 5x measures the overhead.
GROWTH_LEAST = 5.0
# A worse fit is a cache step or another kernel, and its exponent means nothing.
RMS_USELESS = 0.12


@dataclass(frozen=True, kw_only=True)
class TimeFit:
    """Hold what a sweep over lengths says about the growth of time.

    `exponent` (e*) is d log(time - floor) / d log T at `length_max`; `low` and `high` bound it at
    95 %. `coefficients` are a, b, c of a + bT + cT² or a, b, k of a + bT^k, in seconds per power
    of T; `shares` the part of each term in the fitted time at `length_max`; `quadratic_share` the
    T² part of the best polynomial, None where no polynomial comes near. `lengths` were fitted,
    `lengths_dropped` are smaller ones that follow another law; `local_exponents` are the slopes
    between neighbours of the two together, floor included. `growth` is the time at the largest
    usable length over that at the smallest. `jump` is (length, ratio) where a law with one jump
    describes the times as well. `reason` is None, "floor", "few" or "misfit"; with "few" nothing
    was fitted and all else is None or empty, but for the usable `lengths`.
    """

    lengths: tuple[int, ...]
    lengths_dropped: tuple[int, ...] = ()
    length_min: int | None = None
    length_max: int | None = None
    model: str | None = None
    coefficients: tuple[float, ...] = ()
    floor_s: float | None = None
    exponent: float | None = None
    low: float | None = None
    high: float | None = None
    shares: dict[str, float] = field(default_factory=dict)
    quadratic_share: float | None = None
    rms: float | None = None
    growth: float | None = None
    local_exponents: tuple[float, ...] = ()
    jump: tuple[int, float] | None = None
    rate_asymptotic: float | None = None
    half_length: float | None = None
    reason: str | None = None


def fit_time(
    lengths: Sequence[int],
    medians: Sequence[Sequence[float | None] | None],
    *,
    flops: Sequence[float] | None = None,
    spreads: Sequence[float] | None = None,
    bootstrap: int = 400,
    seed: int = 0,
) -> TimeFit:
    """Fit the growth law of one series and bound its exponent.

    `medians[i]` holds the medians of the worker processes at `lengths[i]`, in seconds; a missing
    cell is None, NaN, empty or 0. `flops[i]` is the arithmetic of one call, needed only for the
    asymptotic rate; `spreads[i]` the relative noise of one process in an A/A run, if there was
    one. All else must be fixed along the series, the kernel included: the caller splits it where
    the kernel changes. ValueError for lengths that repeat, are not above 0, or do not match the
    other arguments, for flops not above 0, and for no `bootstrap`.
    """
    if bootstrap < 1:
        raise ValueError(f"bootstrap must be at least 1 resample, not {bootstrap!r}")
    work = _work(lengths, flops)
    series = read_series(lengths, medians, spreads=spreads)
    if not series.enough:
        return _unfitted(series)
    whole = choose(series)
    # A jump shows on the whole series; what is left of it after dropping may be too short.
    choice, jump = shorten(whole), plausible_jump(whole)
    interval = bootstrap_interval(choice, resamples=bootstrap, seed=seed)
    plausible = [*interval, *rivals(choice), *([] if jump is None else [jump.exponent])]
    rate, half = hockney(choice.curve, choice.series.lengths, work)
    every, first = _whole(series), series.lengths.size - choice.series.lengths.size
    return TimeFit(
        lengths=every[first:],
        lengths_dropped=every[:first],
        length_min=every[first],
        length_max=every[-1],
        model=choice.curve.model,
        coefficients=_coefficients(choice.curve, every[-1]),
        floor_s=float(choice.curve.terms[0, 0]),
        exponent=float(choice.curve.exponent[0]),
        low=min(plausible),
        high=max(plausible),
        shares=_shares(choice.curve),
        quadratic_share=quadratic_share(choice),
        rms=choice.rms,
        growth=series.growth,
        local_exponents=series.local_exponents,
        jump=None if jump is None else (jump.length, jump.ratio),
        rate_asymptotic=rate,
        half_length=half,
        reason=_reason(choice, series.growth),
    )


def _unfitted(series: Series) -> TimeFit:
    lengths = _whole(series)
    return TimeFit(
        lengths=lengths,
        length_min=min(lengths, default=None),
        length_max=max(lengths, default=None),
        growth=series.growth,
        local_exponents=series.local_exponents,
        reason="few",
    )


def _work(lengths: Sequence[int], flops: Sequence[float] | None) -> dict[int, float] | None:
    if flops is None:
        return None
    check_lengths(lengths, flops)
    if not min(flops, default=1.0) > 0:
        raise ValueError(f"flops must be above 0, got {min(flops)!r}")
    return dict(zip(lengths, flops, strict=True))


def _whole(series: Series) -> tuple[int, ...]:
    return tuple(int(length) for length in series.lengths)


def _coefficients(curve: Curves, length_max: int) -> tuple[float, ...]:
    """Return the coefficients per power of T; the terms are seconds at the largest length."""
    terms = curve.terms[0]
    if curve.model == "polynomial":
        return tuple(float(term) / length_max**power for power, term in enumerate(terms))
    exponent = float(curve.exponent[0])
    return float(terms[0]), float(terms[1]) / length_max**exponent, exponent


def _shares(curve: Curves) -> dict[str, float]:
    terms = curve.terms[0]
    return dict(zip(TERMS[curve.model], (terms / terms.sum()).tolist(), strict=True))


def _reason(choice: Choice, growth: float | None) -> str | None:
    if growth is not None and growth < GROWTH_LEAST:
        return "floor"
    return "misfit" if choice.rms > RMS_USELESS else None
