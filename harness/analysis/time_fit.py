"""Fit the growth of time with length: which law, which exponent, how sure, over which range."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.analysis.time_models import TERMS, Array, Curves, fit_polynomial, fit_power

FITTERS = {"polynomial": fit_polynomial, "power": fit_power}

LENGTHS_LEAST = 6
RANGE_LEAST = 8
FLOOR_RATIO = 5
SIGMA_LEAST = 0.01
RMS_GOOD = 0.05
RMS_USELESS = 0.12
# Two laws whose AICc differ by less are both plausible (Burnham and Anderson 2002).
RIVAL_MARGIN = 2.0


@dataclass(frozen=True)
class TimeFit:
    """Hold what a time series says about growth.
    """

    model: str | None
    coefficients: tuple[float, ...]
    floor_s: float | None
    exponent: float | None
    low: float | None
    high: float | None
    length_min: int | None
    length_max: int | None
    lengths: tuple[int, ...]
    lengths_dropped: tuple[int, ...]
    shares: dict[str, float]
    rms: float | None
    local_exponents: tuple[float, ...]
    rate_asymptotic: float | None
    half_length: float | None
    reason: str | None


@dataclass(frozen=True)
class _Series:
    lengths: Array
    seconds: Array
    sigma: Array

    def tail(self):
        return _Series(self.lengths[1:], self.seconds[1:], self.sigma[1:])

    @property
    def enough(self):
        return self.lengths.size >= LENGTHS_LEAST and self.lengths[-1] >= RANGE_LEAST * self.lengths[0]

    @property
    def weights(self):
        return 1 / (self.sigma * self.seconds)


def read(lengths, medians):
    out = []
    for T, reps in sorted(zip(lengths, medians)):
        v = np.array([r for r in reps if r is not None and np.isfinite(r) and r > 0], float)
        if v.size:
            c = np.median(v)
            sd = np.std(v / c, ddof=1) / np.sqrt(v.size) if v.size > 1 else 0
            out.append((T, c, max(sd, SIGMA_LEAST)))
    a = np.array(out)
    return _Series(a[:, 0], a[:, 1], a[:, 2])


def choose(series, seconds):
    """both fits + criterion"""
    curves = [f(series.lengths, seconds, series.weights) for f in FITTERS.values()]
    crit = np.stack([c.criterion(seconds, series.weights) for c in curves])
    return curves, crit


def rms(series, curve):
    return float(np.sqrt(np.mean(((series.seconds - curve.values[0]) / series.seconds) ** 2)))


def fit(lengths, medians, bootstrap=400, seed=0, mode="select"):
    s = read(lengths, medians)
    floor = s.seconds[-1] < 5 * s.seconds[0]
    if not s.enough:
        return dict(reason="few")
    while True:
        curves, crit = choose(s, s.seconds[None])
        i = int(np.argmin(crit[:, 0]))
        c = curves[i]
        r = rms(s, c)
        if r <= RMS_GOOD or not s.tail().enough:
            break
        s = s.tail()
    reason = "floor" if floor else "misfit" if r > RMS_USELESS else None
    sigma = np.sqrt(s.sigma**2 + max(0, r**2 - np.mean(s.sigma**2)))
    g = np.random.default_rng(seed)
    boot = c.values[0] * (1 + sigma * g.standard_normal((bootstrap, s.lengths.size)))
    if mode == "select":
        bc, bcrit = choose(s, boot)
        e = np.where(np.argmin(bcrit, 0) == 0, bc[0].exponent, bc[1].exponent)
    else:
        e = list(FITTERS.values())[i](s.lengths, boot, s.weights).exponent
    lo, hi = np.quantile(e, [.025, .975])
    pts = [float(x.exponent[0]) for x, k in zip(curves, crit[:, 0]) if k - crit[i, 0] <= RIVAL_MARGIN]
    return dict(reason=reason, model=c.model, e=float(c.exponent[0]), low=min(lo, *pts, 99), high=max(hi, *pts, -99),
                n=s.lengths.size, rms=r, shares=c.terms[0] / c.terms[0].sum(), rival=pts, dcrit=crit[1, 0] - crit[0, 0])


def judge(f, k, tol=.15):
    if f["reason"]:
        return "inconclusive"
    if k - tol <= f["low"] and f["high"] <= k + tol:
        return "supported"
    if f["low"] > k + tol:
        return "refuted"
    if f["high"] < k - tol:
        if k == 2 and f["model"] == "polynomial" and f["shares"][2] >= .1:
            return "inconclusive"
        return "refuted"
    return "inconclusive"
