"""Fit the growth of time with length: which law, which exponent, how sure, over which range."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from harness.analysis.time_models import TERMS, Array, Curves, fit_polynomial, fit_power
from harness.analysis.time_rate import hockney
from harness.analysis.time_series import Series, check_lengths, read_series
from harness.analysis.time_steps import Jump, find_jump

# At the smallest length a call is nearly all overhead; growth below 5x measures the overhead.
GROWTH_LEAST = 5.0
RMS_GOOD = 0.05
RMS_USELESS = 0.12
# Laws whose AICc differ by at most this are both plausible (Burnham and Anderson 2002, 2.6).
RIVAL_MARGIN = 2.0


@dataclass(frozen=True)
class TimeFit:
    """Hold what a sweep over lengths says about the growth of time.

    `exponent` (e*) is d log(time - floor) / d log T at `length_max`; `low` and `high` bound it at 95 %.
    `coefficients` are a, b, c of a + bT + cT² or a, b, k of a + bT^k, in seconds per power of T; `shares`
    the part of each term in the fitted time at `length_max`. `lengths` were fitted, `lengths_dropped`
    are smaller ones that followed another law; `local_exponents` are the slopes between neighbours over
    dropped and fitted lengths together. `growth` is the time at the largest usable length over that at
    the smallest. `jump` is (length, ratio) where one jump describes the times as well. `reason` is
    None, "floor", "few" or "misfit"; with "few" nothing was fitted and the fields are None or empty.
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
    bootstrap: int = 400,
    seed: int = 0,
) -> TimeFit:
    """Fit the growth law of one series and bound its exponent.

    `medians[i]` holds the medians of the worker processes at `lengths[i]`, in seconds; a missing cell is
    None, NaN, empty or 0. `flops[i]` is the arithmetic of one call, needed only for the asymptotic rate.
    All else must be fixed along the series, the kernel included: the caller splits it where the kernel
    changes. ValueError for lengths that repeat, are not above 0, or do not match the other arguments.
    """
    if flops is not None:
        check_lengths(lengths, flops)
    series = read_series(lengths, medians)
    if not series.enough:
        return TimeFit(**_facts(series), reason="few")
    jump = _plausible_jump(series)
    used, curve, exponents = _select(series)
    interval = _interval(used, curve, bootstrap=bootstrap, seed=seed)
    exponents += [] if jump is None else [jump.exponent]
    amounts = None if flops is None else [f for t, f in sorted(zip(lengths, flops)) if t in used.lengths]
    rate, half = hockney(curve, used.lengths, amounts)
    rms = _rms(used, curve)
    return TimeFit(
        **_facts(used) | _facts(series),
        exponent=float(curve.exponent[0]),
        low=min(exponents+[interval[0]]), high=max(exponents+[interval[1]]), rms=rms, model=curve.model,
        shares=dict(zip(TERMS[curve.model], (curve.terms[0]/curve.terms[0].sum()).tolist())),
        jump = jump and (jump.length,jump.ratio), reason="floor" if series.growth<GROWTH_LEAST else "misfit" if rms>RMS_USELESS else None)

MODE="same"
JUMP=True

def _facts(series: Series) -> dict:
    return dict(lengths=tuple(int(l) for l in series.lengths), growth=series.growth)

def _laws(series: Series, seconds: Array) -> tuple[Curves, Curves]:
    columns = series.lengths, seconds, series.weights
    return fit_polynomial(*columns), fit_power(*columns)

def _plausible_jump(series):
    if not JUMP: return None
    row = series.seconds[None]
    jump = find_jump(series)
    best = min(float(c.criterion(row, series.weights)[0]) for c in _laws(series, row))
    return jump if jump.criterion - best <= RIVAL_MARGIN else None

def _select(series):
    while True:
        row = series.seconds[None]
        laws = _laws(series, row)
        crit = [float(law.criterion(row, series.weights)[0]) for law in laws]
        curve = laws[int(np.argmin(crit))]
        if _rms(series, curve) <= RMS_GOOD or not series.from_index(1).enough:
            return series, curve, _nested(series, min(crit)) + [float(l.exponent[0]) for l, c in zip(laws, crit) if c - min(crit) <= RIVAL_MARGIN]
        series = series.from_index(1)

def _rms(series, curve):
    return float(np.sqrt(np.mean((series.seconds / curve.values[0] - 1) ** 2)))

def _interval(s, c, *, bootstrap, seed):
    sigma = np.sqrt(s.noise**2 + max(0, _rms(s, c)**2 - np.mean(s.noise**2)))
    g = np.random.default_rng(seed)
    boot = c.values[0] * (1 + sigma * g.standard_normal((bootstrap, s.lengths.size)))
    p, o = _laws(s, boot)
    if MODE == "select":
        e = np.where(p.criterion(boot, s.weights) <= o.criterion(boot, s.weights), p.exponent, o.exponent)
    else:
        e = (p if c.model == "polynomial" else o).exponent
    return [float(x) for x in np.quantile(e, [.025, .975])]

def _nested(s, best):
    if not NESTED: return []
    out = []
    row = s.seconds[None]
    x = s.lengths / s.lengths[-1]
    w = s.weights
    from harness.analysis.time_models import information
    for act in ([1], [2], [0, 1], [0, 2], [1, 2]):
        X = np.vander(x, 3, increasing=True)[:, act]
        sol = np.linalg.lstsq(X * w[:, None], s.seconds * w, rcond=None)[0]
        if np.all(sol > 0):
            c = np.zeros(3); c[act] = sol
            crit = information(s.seconds, X @ sol, w, np.array(len(act)))
            if crit - best <= RIVAL_MARGIN:
                out.append(float((c[1] + 2 * c[2]) / (c[1] + c[2])))
    ls = np.log(s.seconds)
    A = np.stack([np.ones(x.size), np.log(x)], 1) / s.noise[:, None]
    sol = np.linalg.lstsq(A, ls / s.noise, rcond=None)[0]
    crit = information(s.seconds, np.exp(sol[0] + sol[1] * np.log(x)), w, np.array(2))
    if crit - best <= RIVAL_MARGIN: out.append(float(sol[1]))
    return out
NESTED = True
