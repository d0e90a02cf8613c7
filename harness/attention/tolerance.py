"""Tolerance: how much error is allowed for which rows, and how a failure is told in one line."""

from __future__ import annotations

import math

import torch

from harness.attention.inputs import Inputs
from harness.attention.spans import widest_spans

LARGEST_SHARE = 0.05  # of max|oracle|: naive bf16 can itself be 0.30 off on peaky scores
# Rounding steps of the accumulating type (float32, or float64 with the oracle's own error): a
# few rows of the naive formula can be exact by luck. Largest seen in an honest kernel: 10.
STEPS = 32


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
    spans = widest_spans(inputs.case)
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
