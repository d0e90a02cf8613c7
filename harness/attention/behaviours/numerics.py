"""Numerics: why scores are divided by sqrt(d_k), by seeded draws (claims B1, B2)."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

from harness.attention.behaviours.behaviour import behaviour
from harness.records.record import Seen

if TYPE_CHECKING:
    import torch

    from harness.attention.behaviours.subject import Subject

DIMS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
PAIRS = 4096  # pairs of query and key per dimension
SLOPE_OFF = 0.02  # a slope this near is the predicted one
ROWS, KEYS = 256, 64
FLAT_FROM = 16  # below, products of few normals have heavier tails than their sum
FLAT = 1.1  # largest over smallest that still counts as flat
FLOAT32 = ("float32",)


@behaviour(
    "score-variance", "Var(q·k) grows as d_k: slope 1 in log-log", "B1", alone=True, dtypes=FLOAT32
)
def score_variance(subject: Subject) -> Seen:
    """d_k = 1 .. 1024, independent components of variance 1."""
    return slope_seen(1.0, scaled=False)


@behaviour(
    "scaled-score-variance", "divided by sqrt(d_k) the variance is 1 at every d_k: slope 0", "B1",
    alone=True, dtypes=FLOAT32,
)  # fmt: skip
def scaled_score_variance(subject: Subject) -> Seen:
    """The same draws."""
    return slope_seen(0.0, scaled=True)


def slope_seen(expected: float, *, scaled: bool) -> Seen:
    """Compare the slope of log variance over log d_k with the predicted one."""
    slope, half = variance_slope(scaled=scaled)
    conforms = slope - half - SLOPE_OFF <= expected <= slope + half + SLOPE_OFF
    text = f"{slope:.3f} [{slope - half:.3f}, {slope + half:.3f}]"
    return Seen(f"slope {expected:g}", f"slope {text}", conforms and half < SLOPE_OFF)


def variance_slope(*, scaled: bool) -> tuple[float, float]:
    """Return the slope and the half-width of its 95 % interval, by weighted least squares.

    The error of a log variance is sqrt((kurtosis - 1) / n), and q·k has kurtosis 3 + 6 / d_k.
    """
    import torch

    generator = torch.Generator().manual_seed(0)
    logs, errors = [], []
    for dim in DIMS:
        query, key = torch.randn(2, PAIRS, dim, generator=generator)
        scores = (query * key).sum(-1) / (dim**0.5 if scaled else 1.0)
        logs.append(scores.double().var().log())
        errors.append(((2 + 6 / dim) / PAIRS) ** 0.5)
    x = torch.tensor(DIMS, dtype=torch.float64).log()
    y, weight = torch.stack(logs), torch.tensor(errors, dtype=torch.float64) ** -2
    centred = x - (weight * x).sum() / weight.sum()
    spread = (weight * centred**2).sum()
    return float((weight * centred * y).sum() / spread), float(1.96 * spread**-0.5)


class Softmax(NamedTuple):
    """Means over rows: the largest weight, entropy in nats, norm of the softmax gradient."""

    weight: float
    entropy: float
    gradient: float


@behaviour(
    "softmax-concentrates",
    "without scaling the largest weight goes to 1, entropy and gradient go to 0 as d_k grows",
    "B2",
    alone=True,
    dtypes=FLOAT32,
)
def softmax_concentrates(subject: Subject) -> Seen:
    """d_k = 1 .. 1024, 64 keys."""
    found = [softmax_at(dim, scaled=False) for dim in DIMS]
    first, last = found[0], found[-1]
    rises = all(a.weight < b.weight for a, b in itertools.pairwise(found))
    top = max(one.gradient for one in found)
    conforms = rises and last.weight > 0.9 and last.entropy < first.entropy / 10
    # It first rises, while the weights go from uniform to a few, and falls from d_k = 8 on.
    conforms = conforms and last.gradient < top / 3
    text = f"weight {last.weight:.3f}, entropy {last.entropy:.3f}, gradient {last.gradient:.3f}"
    return Seen("weight -> 1, entropy -> 0, gradient -> 0", f"{text} at d_k 1024", conforms)


@behaviour(
    "scaled-softmax-is-flat",
    "divided by sqrt(d_k), weight, entropy and gradient do not depend on d_k",
    "B2",
    alone=True,
    dtypes=FLOAT32,
)
def scaled_softmax_is_flat(subject: Subject) -> Seen:
    """From d_k = 16 on: products of few normals have heavier tails."""
    found = [softmax_at(dim, scaled=True) for dim in DIMS if dim >= FLAT_FROM]
    spans = [max(column) / min(column) for column in zip(*found, strict=True)]
    names = ("weight", "entropy", "gradient")
    text = ", ".join(f"{name} x{span:.3f}" for name, span in zip(names, spans, strict=True))
    return Seen(f"largest over smallest below {FLAT}", text, max(spans) < FLAT)


def softmax_at(dim: int, *, scaled: bool) -> Softmax:
    """Return what softmax does to the scores of random queries and keys of so many features.

    The gradient is the Frobenius norm of diag(p) - p pᵀ, the derivative of the weights.
    """
    import torch

    generator = torch.Generator().manual_seed(dim)
    query = torch.randn(ROWS, 1, dim, generator=generator)
    key = torch.randn(ROWS, KEYS, dim, generator=generator)
    scores = (query * key).sum(-1).double() / (dim**0.5 if scaled else 1.0)
    weights = scores.softmax(-1)
    squares = (weights**2).sum(-1)
    gradient = (squares - 2 * (weights**3).sum(-1) + squares**2).clamp(min=0).sqrt()
    entropy = -torch.special.xlogy(weights, weights).sum(-1)
    return Softmax(_mean(weights.amax(-1)), _mean(entropy), _mean(gradient))


def _mean(values: torch.Tensor) -> float:
    return float(values.mean())
