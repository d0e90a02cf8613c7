"""Extremes: scales of 0 and below, infinite and missing values."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from harness.attention.behaviours.behaviour import behaviour
from harness.records.record import Seen

if TYPE_CHECKING:
    import torch

    from harness.attention.behaviours.subject import Subject

TRIANGLE = ((1, 0), (1, 1))
ROW = 2


@behaviour("scale-zero-causal", "causal with scale 0: row i is the mean of V[0..i]", "trouble-7")
def scale_zero_causal(subject: Subject) -> Seen:
    """Two positions of 16."""
    return subject.agrees(subject.inputs(2, mask="causal", factor=0.0))


@behaviour("scale-negative-causal", "causal with a negative scale is computed", "trouble-7")
def scale_negative_causal(subject: Subject) -> Seen:
    """Two positions of 16, scale -0.25."""
    return subject.agrees(subject.inputs(2, mask="causal", factor=-0.25))


@behaviour(
    "scale-zero-explicit-mask", "scale 0 with an explicit triangle: row i is the mean of V[0..i]",
    "trouble-7",
)  # fmt: skip
def scale_zero_explicit_mask(subject: Subject) -> Seen:
    """The same question asked with a mask of one's own."""
    return subject.agrees(subject.inputs(2, keep=TRIANGLE, factor=0.0))


@behaviour("scale-negative", "a negative scale without a mask is computed", "trouble-7")
def scale_negative(subject: Subject) -> Seen:
    """Twenty positions, scale -0.25."""
    return subject.agrees(subject.inputs(20, factor=-0.25))


@behaviour("extreme-scale", "scores of 100,000 pick the largest key, without NaN")
def extreme_scale(subject: Subject) -> Seen:
    """Scale 10,000: every row is one value."""
    inputs = subject.inputs(20, factor=1e4)
    # Multiples of 1/4: products and sums are exact in every dtype, so there is one largest key.
    coarse = [(t * 4).round() / 4 for t in (inputs.query, inputs.key)]
    return subject.agrees(replace(inputs, query=coarse[0], key=coarse[1]))


@behaviour("tiny-scale", "scale 1e-6: every row is nearly the mean of V")
def tiny_scale(subject: Subject) -> Seen:
    """Twenty positions."""
    return subject.agrees(subject.inputs(20, factor=1e-6))


@behaviour(
    "float16-overflow", "raw scores of 102,400, beyond float16, still pick the largest key",
    "trouble-11", dtypes=("float16",),
)  # fmt: skip
def float16_overflow(subject: Subject) -> Seen:
    """Queries and keys of 40 in 64 features; the value of the one that matters is 1."""
    import torch

    from harness.attention.behaviours.subject import compare

    inputs = subject.inputs(2, heads=1, dim_key=64, dim_value=64)
    key = torch.full_like(inputs.key, 40.0)
    key[:, :, 1] = -40.0
    value = torch.zeros_like(inputs.value)
    value[:, :, 0] = 1.0
    query = torch.full_like(inputs.query, 40.0)
    found = subject.output(replace(inputs, query=query, key=key, value=value))
    return compare(found[0, 0, :, 0], subject.tensor([1.0, 1.0]))


@behaviour("nan-query", "queries of NaN give NaN: a fault upstream stays visible", "trouble-8")
def nan_query(subject: Subject) -> Seen:
    """All queries are NaN."""
    import torch

    inputs = subject.inputs(5)
    query = torch.full_like(inputs.query, float("nan"))
    return visible(subject.output(replace(inputs, query=query)))


@behaviour("nan-row", "one query of NaN gives NaN in its own row alone", "trouble-8")
def nan_row(subject: Subject) -> Seen:
    """The other rows are as without it."""
    from harness.attention.behaviours.subject import same

    inputs = subject.inputs(5)
    query = inputs.query.clone()
    query[:, :, ROW] = float("nan")
    found, right = subject.output(replace(inputs, query=query)), subject.output(inputs)
    right[:, :, ROW] = float("nan")
    rows = [row for row in range(5) if found[:, :, row].isnan().all()]
    observed = f"NaN in rows {rows}" if rows else "no row is NaN"
    return Seen(f"NaN in rows [{ROW}]", observed, same(found, right))


@behaviour("nan-value", "a value of NaN reaches every row that sees it")
def nan_value(subject: Subject) -> Seen:
    """Full mask, one value of NaN."""
    inputs = subject.inputs(5)
    value = inputs.value.clone()
    value[:, :, ROW] = float("nan")
    return visible(subject.output(replace(inputs, value=value)))


@behaviour("infinite-query", "a query of +inf gives NaN, as the formula does, not a finite number")
def infinite_query(subject: Subject) -> Seen:
    """inf times keys of both signs: +inf and -inf among the scores."""
    inputs = subject.inputs(5)
    query = inputs.query.clone()
    query[..., 0] = float("inf")
    return visible(subject.output(replace(inputs, query=query)))


@behaviour("infinite-value", "a value of +inf shows as +inf or NaN in every row that sees it")
def infinite_value(subject: Subject) -> Seen:
    """Full mask, one value of +inf."""
    inputs = subject.inputs(5)
    value = inputs.value.clone()
    value[:, :, ROW] = float("inf")
    return visible(subject.output(replace(inputs, value=value)))


@behaviour("hidden-infinite-key", "a key of +inf that is hidden changes nothing")
def hidden_infinite_key(subject: Subject) -> Seen:
    """The last keys are padding."""
    inputs = subject.inputs(8, mask="padding")
    key = inputs.key.clone()
    key[:, :, inputs.case.kept_keys()[0] :] = float("inf")
    return unchanged(subject.output(replace(inputs, key=key)), subject.output(inputs))


@behaviour("hidden-nan-value", "a value of NaN that is hidden changes nothing")
def hidden_nan_value(subject: Subject) -> Seen:
    """The last values are padding; a weight of 0 times NaN is NaN."""
    inputs = subject.inputs(8, mask="padding")
    value = inputs.value.clone()
    value[:, :, inputs.case.kept_keys()[0] :] = float("nan")
    return unchanged(subject.output(replace(inputs, value=value)), subject.output(inputs))


def visible(output: torch.Tensor) -> Seen:
    """Ask that no value is finite."""
    from harness.attention.behaviours.subject import show

    finite = int(output.isfinite().sum())
    observed = f"{finite} of {output.numel()} finite: {show(output)}" if finite else "not finite"
    return Seen("not finite", observed, not finite)


def unchanged(found: torch.Tensor, right: torch.Tensor) -> Seen:
    """Ask that two outputs are equal."""
    from harness.attention.behaviours.subject import same

    if same(found, right):
        return Seen("unchanged", "unchanged", True)
    bad = int((~found.isfinite()).sum())
    observed = f"{bad} of {found.numel()} NaN or infinite" if bad else "changed"
    return Seen("unchanged", observed, False)
