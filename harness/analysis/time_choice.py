"""Choose the growth law and the range of lengths for one series, and bound the exponent."""

from dataclasses import dataclass

import numpy as np

from harness.analysis.time_models import TERM_SETS, Curves, fit_polynomial, fit_power
from harness.analysis.time_series import Series
from harness.analysis.time_steps import Jump, find_jump

# Above this the smallest lengths follow another law (overhead, another tile) and are dropped one
# by one.
RMS_GOOD = 0.05
# Laws whose AICc differ by at most this are both plausible (Burnham and Anderson 2002, 2.6).
RIVAL_MARGIN = 2.0
# A law that is this much worse has essentially no support (the same place).
DECISIVE_MARGIN = 10.0
LEVEL = 0.95


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
