"""Example: attention worked out step by step with numbers one can follow; numpy, no torch."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.cases.case import Case
from harness.cases.masks import MASKS, alibi_slopes

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Step:
    """One step: what it is, its formula, and its values (a matrix)."""

    name: str
    formula: str
    values: Matrix


@dataclass(frozen=True)
class Example:
    """Hold one head's query [T, D], key [T, D], value [T, D], and who may see whom.

    `keep` [T, T] is a mask of one's own beside the case's, or None.
    """

    case: Case
    query: Matrix
    key: Matrix
    value: Matrix
    title: str
    keep: NDArray[np.bool_] | None = field(default=None)

    def allowed(self) -> NDArray[np.bool_]:
        """Return True where a query may look at a key: [T, T]."""
        if self.keep is not None:
            return self.keep
        keys = np.arange(self.case.length_key)
        kept = self.case.kept_keys()[0]
        spans = [self.case.key_span(row, kept=kept) for row in range(self.case.length_query)]
        return np.array([(keys >= start) & (keys < stop) for start, stop in spans])

    def order(self) -> dict[str, Any]:
        """Return what a worker needs to give a backend's answer, as plain JSON values."""
        tensors = {name: getattr(self, name).tolist() for name in ("query", "key", "value")}
        keep = None if self.keep is None else self.keep.tolist()
        return {"do": "explain", "case": self.case.as_dict(), "keep": keep, **tensors}


def worked(mask: str = "full", *, device: str = "cpu") -> Example:
    """Return q = [1, 2, 3], k = [0, ln 2, ln 3], v = [2, 4, 8], d = 1."""
    columns = ([1.0, 2.0, 3.0], [0.0, math.log(2), math.log(3)], [2.0, 4.0, 8.0])
    query, key, value = (np.array(column)[:, None] for column in columns)
    case = Case.square(3, heads=1, dim=1, dtype="float64", mask=mask, device=device)
    title = f"q = [1, 2, 3], k = [0, ln 2, ln 3], v = [2, 4, 8], {mask} mask"
    return Example(case, query, key, value, title)


def forbidding(example: Example) -> Example:
    """Return the example with its last key forbidden to every query."""
    keep = np.ones((len(example.query), len(example.key)), dtype=bool)
    keep[:, -1] = False
    title = f"the same with key {len(example.key)} forbidden"
    return Example(example.case, example.query, example.key, example.value, title, keep)


def drawn(length: int, dim: int, *, mask: str, seed: int, device: str = "cpu") -> Example:
    """Return an example of one's own: standard normal numbers rounded to tenths."""
    random = np.random.default_rng(seed)
    query, key, value = random.standard_normal((3, length, dim)).round(1)
    window = {"window": min(2, length)} if mask in MASKS and MASKS[mask].windowed else {}
    case = Case.square(
        length, heads=1, dim=dim, dtype="float64", mask=mask, device=device, **window
    )
    title = f"T = {length}, d = {dim}, {mask} mask, seed {seed}"
    return Example(case, query, key, value, title)


def steps(example: Example) -> list[Step]:
    """Work the example out: scores, scaling, mask, weights, output; an empty row gives 0."""
    dim = example.case.dim_key
    scores = example.query @ example.key.T
    scaled = scores / math.sqrt(dim)
    allowed = example.allowed()
    found = [
        Step("scores", "Q Kᵀ", scores),
        Step("scaled scores", f"Q Kᵀ / sqrt({dim})", scaled),
    ]
    if MASKS[example.case.mask].biased:
        scaled = scaled + alibi_bias(len(example.query))
        found.append(Step("biased scores", "plus slope x (key - query position)", scaled))
    if not allowed.all():
        scaled = np.where(allowed, scaled, -np.inf)
        found.append(Step("masked scores", "-inf where forbidden, before softmax", scaled))
    weights = softmax(scaled)
    name = "weights" if allowed.all() else "masked weights"
    found.append(Step(name, "softmax of each row: each row sums to 1", weights))
    found.append(Step("output", "weights times V", weights @ example.value))
    return found


def alibi_bias(length: int) -> Matrix:
    """Return ALiBi's bias of a single head [T, T]: it falls to the left of the own position."""
    place = np.arange(length)
    bias: Matrix = alibi_slopes(1)[0] * (place[None, :] - place[:, None]).astype(np.float64)
    return bias


def softmax(scores: Matrix) -> Matrix:
    """Return the weights of each row; a row of -inf alone gives 0."""
    top = np.maximum(scores.max(-1, keepdims=True), np.finfo(np.float64).min)
    weights: Matrix = np.exp(scores - top)
    weights /= np.maximum(weights.sum(-1, keepdims=True), np.finfo(np.float64).tiny)
    return weights
