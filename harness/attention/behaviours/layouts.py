"""Layouts: strided, permuted and expanded inputs, and axes that were mixed up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from harness.attention.behaviours.behaviour import behaviour
from harness.conformance import Seen

if TYPE_CHECKING:
    from harness.attention.behaviours.subject import Subject


@behaviour("strided-inputs", "tensors cut out of one packed projection [B, T, 3, H, D]")
def strided_inputs(subject: Subject) -> Seen:
    """As a projection leaves them."""
    query, key, value = subject.draw(2, 20, 3, 2, 16).permute(2, 0, 3, 1, 4)
    inputs = subject.inputs(20, batch=2, mask="causal")
    return subject.agrees(replace(inputs, query=query, key=key, value=value))


@behaviour("permuted-inputs", "tensors that lie in memory as [T, B, H, D]")
def permuted_inputs(subject: Subject) -> Seen:
    """As a sequence-first model leaves them."""
    query, key, value = (
        subject.draw(20, 2, 2, 16, seed=seed).permute(1, 2, 0, 3) for seed in range(3)
    )
    inputs = subject.inputs(20, batch=2, mask="causal")
    return subject.agrees(replace(inputs, query=query, key=key, value=value))


@behaviour("transposed-inputs", "tensors whose features do not lie side by side")
def transposed_inputs(subject: Subject) -> Seen:
    """The stride of the last axis is not 1."""
    query, key, value = (subject.draw(1, 2, 16, 20, seed=seed).mT for seed in range(3))
    inputs = subject.inputs(20, mask="causal")
    return subject.agrees(replace(inputs, query=query, key=key, value=value))


@behaviour("expanded-keys", "keys and values expanded over the heads, stride 0")
def expanded_keys(subject: Subject) -> Seen:
    """One key head seen as two."""
    key, value = (subject.draw(1, 1, 20, 16, seed=seed).expand(-1, 2, -1, -1) for seed in (1, 2))
    inputs = subject.inputs(20, mask="causal")
    return subject.agrees(replace(inputs, key=key, value=value))


@behaviour("expanded-batch", "one sequence expanded over the batch, stride 0")
def expanded_batch(subject: Subject) -> Seen:
    """Keys and values of one entry seen as three."""
    key, value = (subject.draw(1, 2, 20, 16, seed=seed).expand(3, -1, -1, -1) for seed in (1, 2))
    inputs = subject.inputs(20, batch=3)
    return subject.agrees(replace(inputs, key=key, value=value))


@behaviour("offset-inputs", "tensors that start in the middle of a buffer, off any alignment")
def offset_inputs(subject: Subject) -> Seen:
    """One element into the buffer."""
    size = 2 * 20 * 16
    query, key, value = (
        subject.draw(size + 1, seed=seed)[1:].view(1, 2, 20, 16) for seed in range(3)
    )
    inputs = subject.inputs(20)
    return subject.agrees(replace(inputs, query=query, key=key, value=value))


@behaviour(
    "layout-mix-up", "[B, T, H, D] given as [B, H, T, D] with T = H: an error or the right answer",
    "trouble-12", may_raise=True,
)  # fmt: skip
def layout_mix_up(subject: Subject) -> Seen:
    """The shapes are equal, so nobody can tell: attention runs over the heads of one position."""
    from harness.attention.behaviours.subject import same

    inputs = subject.inputs(4, heads=4)
    right = subject.output(inputs)
    query, key, value = (
        t.transpose(1, 2).contiguous() for t in (inputs.query, inputs.key, inputs.value)
    )
    found = subject.output(replace(inputs, query=query, key=key, value=value)).transpose(1, 2)
    conforms = same(found, right)
    apart = (found - right).abs().max().item()
    observed = "the right answer" if conforms else f"no error, wrong by {apart:.2g}"
    return Seen("an error or the right answer", observed, conforms)
