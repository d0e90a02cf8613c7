"""Agreement: the float64 oracle of an output, and how far an answer may lie from it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from harness.attention.inputs import Inputs
from harness.attention.reference import (
    Formula,
    by_rows,
    checked_rows,
    float32_scores,
    oracle,
    plain,
)

LARGEST_SHARE = 0.05  # of max|oracle|: naive bf16 can itself be 0.30 off on peaky scores
# Rounding steps of the accumulating type (float32, or float64 with the oracle's own error): a
# few rows of the naive formula can be exact by luck. Largest seen in an honest kernel: 10.
STEPS = 32
OUTPUT_FACTOR = 2.0  # times the naive formula's error in the same dtype
# Rows of a group on which the two formulas are computed: bfloat16 products are 8 times slower
# on a CPU than the oracle's, and a largest error hardly grows from 64 rows to all.
FORMULA_ROWS = 64


def allowed(naive_error: float, size: float, *, dtype: torch.dtype, factor: float) -> float:
    """Return the largest error that agrees: factor x naive's + rounding, never above 5 %.

    `size` is the largest magnitude of the oracle over the rows judged. A naive error that is
    not finite (overflow) leaves the 5 %. Fixed tolerances fail: outputs shrink with length.
    """
    wide = torch.promote_types(dtype, torch.float32)
    rounding = (torch.finfo(dtype).eps + STEPS * torch.finfo(wide).eps) * size
    error = factor * naive_error + rounding
    return min(error, LARGEST_SHARE * size) if math.isfinite(error) else LARGEST_SHARE * size


def group_rows(inputs: Inputs, rows: torch.Tensor) -> tuple[list[torch.Tensor], list[int]]:
    """Group the rows that see as many keys, to a factor of two.

    Returns for each group the indices into `rows`, and the most keys that one of its rows sees.
    """
    spans = inputs.case.widest_spans()
    seen = [max(0, spans[row][1] - spans[row][0]) for row in rows.tolist()]
    members: dict[int, list[int]] = {}
    for index, count in enumerate(seen):
        members.setdefault(count.bit_length(), []).append(index)
    groups = list(members.values())
    return [torch.tensor(group) for group in groups], [max(seen[i] for i in g) for g in groups]


def require_finite(reference: torch.Tensor) -> None:
    """Raise ValueError when the oracle holds NaN or infinity: an error of the case."""
    bad = int((~reference.isfinite()).sum())
    if bad:
        raise ValueError(
            f"the reference itself is not finite in {bad} of {reference.numel()} values: "
            "an error of the inputs, not of a backend"
        )


def wrong_form(output: torch.Tensor, *, shape: tuple[int, ...], dtype: torch.dtype) -> str | None:
    """Say how an output's shape or dtype is wrong, or None."""
    if tuple(output.shape) != shape:
        return f"shape {_plain(output.shape)} instead of {_plain(shape)}"
    if output.dtype != dtype:
        return f"dtype {_plain(output.dtype)} instead of {_plain(dtype)}"
    return None


def describe(error: torch.Tensor, *, rows: torch.Tensor, limit: float) -> str:
    """Return where the largest error lies: `error` is [B, H, rows, D] at these positions."""
    bad = ~error.isfinite()
    worst = bad.double() if bad.any() else error
    place = [int(i) for i in torch.unravel_index(worst.argmax(), worst.shape)]
    place[2] = int(rows[place[2]])
    if bad.any():
        return f"NaN or infinity in {int(bad.sum())} of {bad.numel()} values, first at {place}"
    return f"largest error {float(error.max()):.2g} at {place}, allowed {limit:.2g}"


def _plain(value: object) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(str(int(size)) for size in value)})"
    return str(value).removeprefix("torch.")


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Say whether an output agrees, how far off it is, and what was allowed.

    `error_max` is absolute, `error_rel` is over the oracle's largest magnitude in the same rows,
    and both and `tolerance` are of the rows nearest to (or furthest beyond) what is allowed.
    An error that is not finite is None; the reason counts the values. `error_ratio` compares with
    the formula that keeps scores in float32 and rounds the weights to the dtype: about 1 is
    accurate, 10 merely acceptable.
    """

    agrees: bool
    error_max: float | None = None
    error_rel: float | None = None
    tolerance: float | None = None
    error_ratio: float | None = None
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class Group:
    """Hold what is allowed for rows that see as many keys, to a factor of two.

    `index` points into the checked rows. `scale` is max|oracle| of them; `size` is that or, by
    chance smaller in a small group, what averaging so many values leaves.
    """

    index: torch.Tensor
    scale: float
    size: float
    tolerance: float
    formula: float

    def excess(self, error: float) -> float:
        """Return the error over what is allowed; above 1 it disagrees."""
        return error / self.tolerance if self.tolerance else math.inf * error if error else 0.0


def check(output: torch.Tensor, inputs: Inputs, *, rows: torch.Tensor | None = None) -> Agreement:
    """Compare one output [B, H, Tq, Dv] with the oracle; for several, keep one `Oracle`."""
    return Oracle(inputs, rows=rows).check(output)


class Oracle:
    """Hold what all backends of one case are compared with, computed once per Inputs.

    Rows are judged in groups that see as many keys, to a factor of two: outputs shrink as
    1 / sqrt(keys), so under a causal mask the first rows would excuse any error in the last.
    Raises ValueError when the oracle itself is not finite: that is an error of the case.
    """

    def __init__(self, inputs: Inputs, *, rows: torch.Tensor | None = None) -> None:
        case = inputs.case
        self.shape = (case.batch, case.heads, case.length_query, case.dim_value)
        self.dtype = inputs.query.dtype
        self.rows = checked_rows(case.length_query) if rows is None else rows.cpu()
        self.reference = oracle(inputs, self.rows)
        require_finite(self.reference)
        self.groups = self._group(inputs)

    def _group(self, inputs: Inputs) -> list[Group]:
        indices, seen = group_rows(inputs, self.rows)
        spread = inputs.value.detach().double().square().mean().sqrt().item()
        scales = largest(self.reference, indices)
        naive = self._formula_errors(inputs, plain, indices=indices)
        formula = naive
        if self.dtype.itemsize < 4:  # for float32 both formulas are the same
            formula = self._formula_errors(inputs, float32_scores, indices=indices)
        groups = []
        for i, index in enumerate(indices):
            size = max(scales[i], spread * seen[i] ** -0.5) if seen[i] else 0.0
            limit = allowed(naive[i], size, dtype=self.dtype, factor=OUTPUT_FACTOR)
            groups.append(
                Group(index=index, scale=scales[i], size=size, tolerance=limit, formula=formula[i])
            )
        return groups

    def _formula_errors(
        self, inputs: Inputs, formula: Formula, *, indices: list[torch.Tensor]
    ) -> list[float]:
        """Return a formula's largest error in each group, over a sample of its rows."""
        samples = [index[:: -(-len(index) // FORMULA_ROWS)] for index in indices]
        joined = torch.cat(samples)
        output = by_rows(inputs, formula, rows=self.rows[joined])
        error = output.double() - self.reference[:, :, joined.to(output.device)]
        places = torch.arange(len(joined)).split_with_sizes([len(item) for item in samples])
        return largest(error, list(places))

    def check(self, output: torch.Tensor) -> Agreement:
        """Compare an output with the oracle; NaN, a wrong shape or dtype never agree."""
        wrong = wrong_form(output, shape=self.shape, dtype=self.dtype)
        if wrong:
            return Agreement(agrees=False, reason=wrong)
        picked = output.detach()[:, :, self.rows.to(output.device)]
        errors = largest(picked.double() - self.reference, [group.index for group in self.groups])
        pairs = list(zip(errors, self.groups, strict=True))
        error, group = max(pairs, key=lambda pair: pair[1].excess(pair[0]))
        agrees = error <= group.tolerance
        known = math.isfinite(error)
        return Agreement(
            agrees=agrees,
            error_max=error if known else None,
            error_rel=error / group.scale if known and group.scale else None,
            tolerance=group.tolerance,
            error_ratio=self._ratio(pairs),
            reason=None if agrees else self._reason(picked, group),
        )

    def _ratio(self, pairs: list[tuple[float, Group]]) -> float | None:
        """Return the worst ratio of a group; half a rounding step stands in for no error."""
        half = torch.finfo(self.dtype).eps / 2
        ratio = max(
            (error / max(g.formula, half * g.size) for error, g in pairs if g.size), default=0
        )
        return ratio if math.isfinite(ratio) else None

    def _reason(self, picked: torch.Tensor, group: Group) -> str:
        index = group.index.to(picked.device)
        error = (picked[:, :, index].double() - self.reference[:, :, index]).abs()
        return describe(error, rows=self.rows[group.index], limit=group.tolerance)


def largest(values: torch.Tensor, indices: list[torch.Tensor]) -> list[float]:
    """Return the largest magnitude over each set of rows of [B, H, rows, D]; NaN as infinity."""
    by_row = values.abs().amax(dim=(0, 1, 3)).nan_to_num(nan=math.inf, posinf=math.inf).cpu()
    return [by_row[index].max().item() for index in indices]
