"""Infinities: NaN and infinity must stay visible where attended, and do nothing where hidden."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from harness.attention.behaviours.behaviour import behaviour
from harness.conformance import Seen

if TYPE_CHECKING:
    import torch

    from harness.attention.behaviours.subject import Subject

ROW = 2


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
