"""The worked example: three positions whose weights are sixths (claims A1, A2, A3)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from harness.attention.behaviours.behaviour import EXACT, behaviour
from harness.records.record import Seen

if TYPE_CHECKING:
    import torch

    from harness.attention.behaviours.subject import Subject
    from harness.attention.inputs import Inputs


@behaviour(
    "worked-example",
    "q = [1, 2, 3], k = [0, ln 2, ln 3], v = [2, 4, 8] give 17/3, 45/7 and 125/18",
    "A1",
    dtypes=EXACT,
)
def worked_example(subject: Subject) -> Seen:
    """Row i has weights 1, 2^i and 3^i over their sum."""
    from harness.attention.behaviours.subject import compare

    weights = [(1, 2**power, 3**power) for power in (1, 2, 3)]
    right = [(2 * a + 4 * b + 8 * c) / (a + b + c) for a, b, c in weights]
    return compare(subject.output(example(subject)).flatten(), subject.tensor(right))


@behaviour(
    "weights-sum-to-one",
    "the weights of q = 1 are 1/6, 2/6, 3/6",
    "A2",
    dtypes=EXACT,
)
def weights_sum(subject: Subject) -> Seen:
    """One-hot values make the output the weights themselves."""
    from harness.attention.behaviours.subject import compare

    found = weights_of(subject, example(subject))[0]
    seen = compare(found, subject.tensor([1 / 6, 2 / 6, 3 / 6]))
    total = found.double().sum().item()
    return Seen(f"{seen.expected}, sum 1", f"{seen.observed}, sum {total:.6g}", seen.conforms)


@behaviour(
    "mask-before-softmax",
    "with key 3 forbidden q = 1 has weights 1/3, 2/3, 0, and not 1/6, 2/6, 0",
    "A3",
    dtypes=EXACT,
)
def mask_before_softmax(subject: Subject) -> Seen:
    """Two queries of 1 and a bottom-right triangle: the first of them sees keys 1 and 2."""
    from harness.attention.behaviours.subject import compare

    inputs = example(subject)
    case = inputs.case.with_(mask="causal-bottom-right", length_query=2)
    query = inputs.query[:, :, :1].repeat(1, 1, 2, 1)
    found = weights_of(subject, replace(inputs, case=case, query=query))[0]
    return compare(found, subject.tensor([1 / 3, 2 / 3, 0.0]))


def example(subject: Subject) -> Inputs:
    """Return the three positions, d = 1; scores are q·k as they are, since sqrt(1) is 1."""
    columns = ([1.0, 2.0, 3.0], [0.0, math.log(2), math.log(3)], [2.0, 4.0, 8.0])
    query, key, value = (subject.tensor(column).view(1, 1, 3, 1) for column in columns)
    inputs = subject.inputs(3, heads=1, dim_key=1, dim_value=1)
    return replace(inputs, query=query, key=key, value=value)


def weights_of(subject: Subject, inputs: Inputs) -> torch.Tensor:
    """Return the weights [rows, keys] of one head, one key's column after the other.

    The value of a key is 1 and all others 0, in as many features as the case has, so that no
    backend need take a dim_value of its own.
    """
    import torch

    columns = []
    for key in range(inputs.case.length_key):
        value = torch.zeros_like(inputs.value)
        value[:, :, key] = 1.0
        columns.append(subject.output(replace(inputs, value=value))[0, 0, :, 0])
    return torch.stack(columns, dim=-1)
