"""Scales: zero, negative and extreme factors of the scores, and scores beyond float16."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from harness.attention.behaviours.behaviour import behaviour
from harness.conformance import Seen

if TYPE_CHECKING:
    from harness.attention.behaviours.subject import Subject

TRIANGLE = ((1, 0), (1, 1))


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
