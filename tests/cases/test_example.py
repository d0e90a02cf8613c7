"""The example in numpy: the numbers of the article, masks before softmax, empty rows."""

from __future__ import annotations

import numpy as np
import pytest

from harness.cases.example import Example, drawn, forbidding, steps, worked
from harness.cases.masks import MASK_CODES
from harness.report.explain import number


def values(example: Example) -> dict[str, np.ndarray]:
    return {step.name: step.values for step in steps(example)}


def test_the_first_output_is_17_thirds() -> None:
    found = values(worked())
    assert list(found) == ["scores", "scaled scores", "weights", "output"]
    assert found["weights"][0].tolist() == pytest.approx([1 / 6, 2 / 6, 3 / 6])
    assert found["output"][:, 0].tolist() == pytest.approx([17 / 3, 45 / 7, 125 / 18])


def test_a_forbidden_key_is_left_out_before_softmax() -> None:
    found = values(forbidding(worked()))
    assert found["masked weights"][0].tolist() == pytest.approx([1 / 3, 2 / 3, 0.0])
    assert found["masked weights"].sum(-1).tolist() == pytest.approx([1.0] * 3)


@pytest.mark.parametrize("mask", MASK_CODES)
def test_the_steps_end_in_the_oracles_output(mask: str) -> None:
    import torch

    from harness.attention.inputs import Inputs
    from harness.attention.reference import oracle

    example = drawn(7, 3, mask=mask, seed=2)
    query, key, value = (
        torch.from_numpy(getattr(example, name))[None, None] for name in ("query", "key", "value")
    )
    right = oracle(Inputs(case=example.case, query=query, key=key, value=value))
    assert values(example)["output"] == pytest.approx(right[0, 0].numpy(), abs=1e-12)


def test_the_same_seed_draws_the_same_example() -> None:
    one, two, other = (drawn(4, 2, mask="full", seed=seed) for seed in (1, 1, 2))
    assert (one.query == two.query).all()
    assert (one.query != other.query).any()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (17 / 3, "5.6667 = 17/3"),
        (0.5, "0.5000 = 1/2"),
        (2.0, "2.0000"),
        (float("-inf"), "-inf"),
        (0.6931471805599453, "0.6931"),
    ],
)
def test_simple_numbers_are_shown_as_fractions(value: float, text: str) -> None:
    assert number(value) == text
