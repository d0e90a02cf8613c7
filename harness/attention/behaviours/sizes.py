"""Sizes: none, one, off the tile, head dims that no tensor core likes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.attention.behaviours.behaviour import behaviour
from harness.attention.behaviours.raw import raw
from harness.conformance import Seen

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
