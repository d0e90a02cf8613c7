"""Layouts: sizes from nothing to off the tile, and strides."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from harness.attention.behaviours.behaviour import behaviour, raw
from harness.records.record import Seen

if TYPE_CHECKING:
    from harness.attention.behaviours.subject import Subject

OFF_THE_TILE = (33, 65, 129, 1000)


def empty(subject: Subject, *, batch: int = 1, rows: int = 3, keys: int = 3) -> Seen:
    """Call the library with an axis of length 0; the right output is empty or all zeros."""
    import torch

    from harness.attention.behaviours.subject import compare

    query = subject.draw(batch, 2, rows, 16)
    key, value = (subject.draw(batch, 2, keys, 16, seed=seed) for seed in (1, 2))
    found = raw(subject.backend, query, key, value)
    return compare(found, torch.zeros_like(query))


@behaviour("no-query", "no query gives an empty output", "trouble-10", risky=True)
def no_query(subject: Subject) -> Seen:
    """Tq = 0."""
    return empty(subject, rows=0)


@behaviour("no-key", "no key gives zeros", "trouble-10", risky=True)
def no_key(subject: Subject) -> Seen:
    """Tk = 0: an empty sum."""
    return empty(subject, keys=0)


@behaviour("no-batch", "no batch entry gives an empty output", "trouble-10", risky=True)
def no_batch(subject: Subject) -> Seen:
    """B = 0."""
    return empty(subject, batch=0)


@behaviour("one-position", "one query and one key give V itself", "trouble-10")
def one_position(subject: Subject) -> Seen:
    """T = 1."""
    from harness.attention.behaviours.subject import compare

    inputs = subject.inputs(1)
    return compare(subject.output(inputs), inputs.value)


@behaviour("one-query", "one query over 70 keys", "trouble-10")
def one_query(subject: Subject) -> Seen:
    """Tq = 1."""
    return subject.agrees(subject.inputs(1, 70))


@behaviour("one-key", "one key gives V in every row", "trouble-10")
def one_key(subject: Subject) -> Seen:
    """Tk = 1."""
    from harness.attention.behaviours.subject import compare

    inputs = subject.inputs(7, 1)
    return compare(subject.output(inputs), inputs.value.expand(-1, -1, 7, -1))


def _off_the_tile(length: int) -> None:
    @behaviour(f"length-{length}", f"length {length}, off every tile, causal", "trouble-13")
    def check(subject: Subject) -> Seen:
        return subject.agrees(subject.inputs(length, mask="causal"))


def _off_the_lane(dim: int) -> None:
    @behaviour(f"head-dim-{dim}", f"head dim {dim}, off the multiple of 8")
    def check(subject: Subject) -> Seen:
        return subject.agrees(subject.inputs(20, dim_key=dim, dim_value=dim, mask="causal"))


for each in OFF_THE_TILE:
    _off_the_tile(each)
for each in (1, 7, 65):
    _off_the_lane(each)


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
