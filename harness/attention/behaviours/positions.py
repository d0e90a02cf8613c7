"""Positions: shapes, cross-attention, and what an output row depends on (claims A8, A9, A13)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from harness.attention.behaviours.behaviour import behaviour
from harness.conformance import Seen

if TYPE_CHECKING:
    from harness.attention.behaviours.subject import Subject

ROW = 3


@behaviour(
    "rows-are-independent",
    "output i depends on query i alone among the queries: no position waits for another's output",
    "A8",
)
def rows_are_independent(subject: Subject) -> Seen:
    """Replace one query; its row alone may change, and has to."""
    from harness.attention.behaviours.subject import same

    inputs = subject.inputs(9, mask="causal")
    moved = inputs.query.clone()
    moved[:, :, ROW] = -2 * moved[:, :, ROW]
    before, after = subject.output(inputs), subject.output(replace(inputs, query=moved))
    changed = [row for row in range(9) if not same(after[:, :, row], before[:, :, row])]
    return Seen(f"row {ROW} changes", f"rows {changed} change", changed == [ROW])


@behaviour(
    "values-reach-allowed-rows",
    "a changed value reaches exactly the rows that may see it",
    "A8",
)
def values_reach_allowed_rows(subject: Subject) -> Seen:
    """Replace one value under a causal mask: rows from its position on change."""
    from harness.attention.behaviours.subject import same

    inputs = subject.inputs(9, mask="causal")
    moved = inputs.value.clone()
    moved[:, :, ROW] += 8
    before, after = subject.output(inputs), subject.output(replace(inputs, value=moved))
    changed = [row for row in range(9) if not same(after[:, :, row], before[:, :, row])]
    right = list(range(ROW, 9))
    return Seen(f"rows {right} change", f"rows {changed} change", changed == right)


@behaviour("shapes", "Q, K and V of [B, H, T, D] give an output of [B, H, T, D]", "A9")
def shapes(subject: Subject) -> Seen:
    """Batch, heads, length and dim all differ, so that a mixed-up axis shows."""
    found = subject.output(subject.inputs(7, batch=2, heads=3, dim_key=16, dim_value=16))
    right, shape = [2, 3, 7, 16], list(found.shape)
    seen = subject.agrees(subject.inputs(7, batch=2, heads=3, dim_key=16, dim_value=16))
    conforms = seen.conforms and shape == right
    return Seen(f"{right}, as the oracle", f"{shape}, {seen.observed}", conforms)


@behaviour("value-dim-differs", "dim_value may differ from dim_key", "A9", "trouble-9")
def value_dim_differs(subject: Subject) -> Seen:
    """dim_key 128 and dim_value 64."""
    return subject.agrees(subject.inputs(20, dim_key=128, dim_value=64))


@behaviour("cross-attention", "five queries of one sequence over nine keys of another", "A13")
def cross_attention(subject: Subject) -> Seen:
    """Tq = 5, Tk = 9."""
    return subject.agrees(subject.inputs(5, 9, batch=2))


@behaviour("cross-attention-tall", "nine queries over five keys", "A13")
def cross_attention_tall(subject: Subject) -> Seen:
    """Tq = 9, Tk = 5."""
    return subject.agrees(subject.inputs(9, 5, batch=2))


@behaviour("grouped-heads", "query heads share key heads in runs: head h takes h // (H / H_kv)")
def grouped_heads(subject: Subject) -> Seen:
    """Six query heads over two key heads, causal."""
    return subject.agrees(subject.inputs(18, heads=6, heads_kv=2, mask="causal"))
