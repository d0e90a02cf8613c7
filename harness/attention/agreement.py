"""Agreement: does an output match the float64 oracle, by a tolerance the naive formula sets."""

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
from harness.attention.tolerance import allowed, describe, group_rows, require_finite, wrong_form

OUTPUT_FACTOR = 2.0  # times the naive formula's error in the same dtype
# Rows of a group on which the two formulas are computed: bfloat16 products are 8 times slower
# on a CPU than the oracle's, and a largest error hardly grows from 64 rows to all.
FORMULA_ROWS = 64


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
