"""Empty rows: a query that may see no key, and finite minima in place of -inf (claim A6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.attention.behaviours.behaviour import behaviour, raw
from harness.records.record import Seen

if TYPE_CHECKING:
    import torch

    from harness.attention.behaviours.subject import Subject
    from harness.attention.inputs import Inputs

ROW, LENGTH = 2, 4
OWN_RULES = ("0", "NaN", "mean of V")


def one_empty_row(subject: Subject) -> Inputs:
    """Four positions; row 2 may see no key."""
    keep = [[int(row != ROW)] * LENGTH for row in range(LENGTH)]
    return subject.inputs(LENGTH, keep=keep)


def rule_of(row: torch.Tensor, value: torch.Tensor) -> str:
    """Name what an empty row [B, H, D] gave: 0, NaN, mean of V [B, H, T, D], or its numbers."""
    from harness.attention.behaviours.subject import same, show

    if row.isnan().all():
        return "NaN"
    if not row.any():
        return "0"
    return "mean of V" if same(row, value.mean(2)) else show(row)


@behaviour("empty-row", "a row with every key hidden gives 0, the others what is due", "trouble-1")
def empty_row(subject: Subject) -> Seen:
    """A boolean mask with one row of False."""
    inputs = one_empty_row(subject)
    rule = rule_of(subject.output(inputs)[:, :, ROW], inputs.value)
    seen = subject.agrees(inputs)
    return Seen("0", rule if rule != "0" else f"0; {seen.observed}", seen.conforms)


@behaviour("empty-row-gradients", "gradients beside an empty row are finite", "trouble-1")
def empty_row_gradients(subject: Subject) -> Seen:
    """The gradient of the output is 1 everywhere, in the empty row as well."""
    import torch

    inputs = one_empty_row(subject)
    found = subject.gradients(inputs, torch.ones_like(inputs.query))
    bad = sum(int((~gradient.isfinite()).sum()) for gradient in found)
    return Seen("finite", f"{bad} NaN or infinite values" if bad else "finite", not bad)


@behaviour("empty-row-infinite-bias", "a row of -inf in an additive mask gives 0", "trouble-1")
def empty_row_infinite_bias(subject: Subject) -> Seen:
    """Call the library with an additive mask."""
    rule = biased_row(subject, float("-inf"))
    return Seen("0", rule, rule == "0")


@behaviour(
    "undefined-row",
    "a row with every key hidden is undefined: each backend has a rule of its own",
    "A6",
)
def undefined_row(subject: Subject) -> Seen:
    """The plain formula divides 0 by 0: NaN. Others may give 0 or the mean of V."""
    if subject.backend.takes_mask:
        inputs, row = one_empty_row(subject), ROW
    else:
        inputs, row = subject.inputs(5, 2, mask="causal-bottom-right"), 0
    rule = rule_of(subject.output(inputs)[:, :, row], inputs.value)
    right = ("NaN",) if subject.backend.name == "naive" else OWN_RULES
    return Seen(" or ".join(right), rule, rule in right)


@behaviour(
    "finite-minimum-row", "a row of the finite minimum in place of -inf gives the mean of V", "A6",
    dtypes=("float32", "bfloat16"),
)  # fmt: skip
def finite_minimum_row(subject: Subject) -> Seen:
    """Every score plus the minimum is the minimum: the weights are uniform."""
    import torch

    rule = biased_row(subject, torch.finfo(subject.torch_dtype).min)
    return Seen("mean of V", rule, rule == "mean of V")


@behaviour(
    "float16-minimum-mask", "a row of -65504 in float16 gives 0 or the mean of V", "trouble-2",
    dtypes=("float16",),
)  # fmt: skip
def float16_minimum_mask(subject: Subject) -> Seen:
    """A kernel that adds in float32 keeps the scores' differences: nothing is masked."""
    rule = biased_row(subject, -65504.0)
    return Seen("0 or mean of V", rule, rule in ("0", "mean of V"))


def biased_row(subject: Subject, number: float) -> str:
    """Add a row of one number to the scores and name what that row gave."""
    import torch

    from harness.attention.behaviours.subject import same

    query, key, value = (subject.draw(1, 2, LENGTH, 16, seed=seed) for seed in range(3))
    bias = torch.zeros(1, 1, LENGTH, LENGTH, dtype=query.dtype, device=query.device)
    bias[:, :, ROW] = number
    row = raw(subject.backend, query, key, value, attn_mask=bias)[:, :, ROW]
    rule = rule_of(row, value)
    unmasked = raw(subject.backend, query, key, value)[:, :, ROW]
    return "the unmasked result" if rule not in OWN_RULES and same(row, unmasked) else rule
