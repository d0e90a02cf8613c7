"""Choice: which law a series of times follows, jumps allowed for, and its rate."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.analysis.fits.laws import (
    TERM_SETS,
    Array,
    Curves,
    Series,
    fit_polynomial,
    fit_power,
    information,
)

# Floors tried, as parts of the shortest time; coarse, since the answer only ever widens an
# interval.
FLOORS = np.array([0.0, 0.2, 0.4, 0.6, 0.75, 0.85, 0.92, 0.97])
# A rate has no asymptote when time and arithmetic grow by different powers; as wide as a verdict's
# band.
POWER_TOLERANCE = 0.15
# A higher term than the leading one would in the end take the rate to zero; below 10 % it is
# noise.
SHARE_IGNORED = 0.10
# Above this the smallest lengths follow another law (overhead, another tile) and are dropped one
# by one.
RMS_GOOD = 0.05
# Laws whose AICc differ by at most this are both plausible (Burnham and Anderson 2002, 2.6).
RIVAL_MARGIN = 2.0
# A law that is this much worse has essentially no support (the same place).
DECISIVE_MARGIN = 10.0
LEVEL = 0.95


@dataclass(frozen=True)
class Jump:
    """Hold the best law a + b T^k with its growth multiplied by `ratio` from `length` on."""

    length: int
    ratio: float
    exponent: float
    criterion: float


def find_jump(series: Series) -> Jump:
    """Return the likeliest single jump with at least two lengths on either side.

    Closed form: least squares of log(time - floor) on log T and a step, for each place and each
    trial floor. `criterion` is the AICc of the growth laws, with place and height counted as free.
    """
    places = np.arange(2, series.lengths.size - 1)
    designs = _designs(series.lengths, places)
    floors = (FLOORS * series.seconds.min())[:, None]
    rest = series.seconds - floors
    solution = _solve(designs, np.log(rest), rest * series.weights)
    growth = np.exp((designs @ solution[..., None])[..., 0])
    free = 4.0 + (floors > 0) * np.ones(places.size)
    criterion = information(series.seconds, floors[..., None] + growth, series.weights, free)
    floor, place = np.unravel_index(np.argmin(criterion), criterion.shape)
    return Jump(
        length=int(series.lengths[places[place]]),
        ratio=float(np.exp(solution[floor, place, 2])),
        exponent=float(solution[floor, place, 1]),
        criterion=float(criterion[floor, place]),
    )


def _designs(lengths: Array, places: NDArray[np.intp]) -> Array:
    """Return the columns 1, log T and "at or after the place" [places, lengths, 3]."""
    after = np.arange(lengths.size) >= places[:, None]
    ones = np.ones(after.shape)
    return np.stack([ones, ones * np.log(lengths / lengths[-1]), after.astype(np.float64)], axis=2)


def _solve(designs: Array, logs: Array, weights: Array) -> Array:
    """Return the weighted least-squares solutions [floors, places, 3]; logs [floors, lengths]."""
    square = weights**2
    normal = np.einsum("pna,fn,pnb->fpab", designs, square, designs)
    right = np.einsum("pna,fn->fpa", designs, square * logs)
    return np.asarray(np.linalg.solve(normal, right[..., None])[..., 0])


def hockney(
    curve: Curves, lengths: Array, flops: Mapping[int, float] | None
) -> tuple[float | None, float | None]:
    """Return (rate_asymptotic [flop/s], half_length) of a law (Hockney and Jesshope 1988).

    The leading term is the one that grows as `flops` do (without them: the larger growing one):
    the rate is the arithmetic over that term alone, half_length the T where all else takes as long
    again. Both are None when no term grows so, the rate also without `flops`. An extrapolation:
    where half_length lies beyond the largest length, the rate was never approached.
    """
    terms = curve.terms[0]
    first, last = int(lengths[0]), int(lengths[-1])
    growth = (
        None if flops is None else float(np.log(flops[last] / flops[first]) / np.log(last / first))
    )
    place, power = _leading(curve, terms, growth)
    fits = growth is None or abs(power - growth) <= POWER_TOLERANCE
    if not fits or terms[place] <= 0 or terms[place + 1 :].sum() > SHARE_IGNORED * terms.sum():
        return None, None
    rate = None if flops is None else float(flops[last] / terms[place])
    return rate, last * _half(terms[: place + 1], power)


def _leading(curve: Curves, terms: Array, growth: float | None) -> tuple[int, float]:
    """Return the index of the leading term and its power of T."""
    if curve.model == "power":
        return 1, float(curve.exponent[0])
    quadratic = terms[2] > terms[1] if growth is None else growth > 1.5
    return (2, 2.0) if quadratic else (1, 1.0)


def _half(terms: Array, power: float) -> float:
    """Return x where the last term times x^power equals all the terms before it."""
    if terms.size < 3:
        return float((terms[0] / terms[1]) ** (1 / power))
    return float(max(np.roots(terms[::-1] * [1, -1, -1]).real))


@dataclass(frozen=True)
class Choice:
    """Hold the law chosen for `series`, perhaps without its smallest lengths, and its AICc."""

    series: Series
    curve: Curves
    criterion: float

    @property
    def rms(self) -> float:
        """Return the rms residual relative to the fitted times."""
        return float(np.sqrt(np.mean((self.series.seconds / self.curve.values[0] - 1) ** 2)))


def choose(series: Series) -> Choice:
    """Fit both laws to all the lengths given and keep the one of lower AICc."""
    rows = series.lengths, series.seconds[None], series.weights
    laws = fit_polynomial(*rows), fit_power(*rows)
    criteria = _criteria(series, laws)
    best = int(np.argmin(criteria))
    return Choice(series, laws[best], criteria[best])


def shorten(choice: Choice) -> Choice:
    """Drop the smallest lengths as long as the law misfits and they can be spared."""
    while choice.rms > RMS_GOOD and choice.series.from_index(1).enough:
        choice = choose(choice.series.from_index(1))
    return choice


def rivals(choice: Choice) -> list[float]:
    """Return the exponents of all laws as plausible as the chosen one, which is among them.

    Simpler laws inside the two are rivals as well: the T² term that noise adds to a pure line, and
    the floor that it adds to a pure power, bias the exponent, and a bootstrap keeps the bias.
    """
    rows = choice.series.lengths, choice.series.seconds[None], choice.series.weights
    # The first set is the constant alone, which is no growth.
    polynomials = [fit_polynomial(*rows, term_sets=[terms]) for terms in TERM_SETS[1:]]
    laws = (*polynomials, fit_power(*rows), fit_power(*rows, floor=False))
    pairs = zip(laws, _criteria(choice.series, laws), strict=True)
    limit = choice.criterion + RIVAL_MARGIN
    rivals = [float(law.exponent[0]) for law, criterion in pairs if criterion <= limit]
    # A sum of terms that only fits with a negative one comes back as no growth at all.
    return [exponent for exponent in rivals if exponent > 0]


def quadratic_share(choice: Choice) -> float | None:
    """Return the share of the T² term at the largest length in the best polynomial.

    None where a polynomial is decisively worse than the chosen law: only then does a power below
    2 speak against a T² term, since tiles and caches bend a true quadratic as well.
    """
    law = fit_polynomial(choice.series.lengths, choice.series.seconds[None], choice.series.weights)
    if _criteria(choice.series, (law,))[0] > choice.criterion + DECISIVE_MARGIN:
        return None
    terms = law.terms[0]
    return float(terms[2] / terms.sum())


def plausible_jump(choice: Choice) -> Jump | None:
    """Return the best single jump if it describes the series as well as the chosen law does."""
    jump = find_jump(choice.series)
    return jump if jump.criterion <= choice.criterion + RIVAL_MARGIN else None


def bootstrap_interval(choice: Choice, *, resamples: int, seed: int) -> tuple[float, float]:
    """Return the 95 % interval of the exponent by parametric bootstrap of the chosen law.

    Lack of fit is a part of the uncertainty: what the residuals exceed the noise by is added to
    it.
    """
    series, curve = choice.series, choice.curve
    excess = max(0.0, choice.rms**2 - float(np.mean(series.noise**2)))
    noise = np.sqrt(series.noise**2 + excess)
    drawn = np.random.default_rng(seed).standard_normal((resamples, series.lengths.size))
    # A draw of minus 4 sigma at 25 % would be a negative time.
    seconds = curve.values[0] * np.maximum(1 + noise * drawn, 0.01)
    fitter = fit_polynomial if curve.model == "polynomial" else fit_power
    exponents = fitter(series.lengths, seconds, series.weights).exponent
    low, high = np.quantile(exponents, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def _criteria(series: Series, laws: tuple[Curves, ...]) -> list[float]:
    row = series.seconds[None]
    return [float(law.criterion(row, series.weights)[0]) for law in laws]
