"""Recurrences: one step after another in float64, equal to torch's modules; faults are caught."""

from __future__ import annotations

import math

import pytest
import torch

from harness.attention.backends import BACKENDS
from harness.attention.behaviours import invariants
from harness.attention.works.layer import STEPS, Hidden, make_recurrent, recurrent_answer
from tests.support.works_cases import judge, work_case

KINDS = list(STEPS)


@pytest.mark.parametrize("kind", KINDS)
def test_the_formula_is_torchs_module_in_float64(kind: str) -> None:
    hidden = make_recurrent(work_case(kind, dtype="float64"))
    output = invariants.run(BACKENDS[kind], hidden)
    assert torch.allclose(recurrent_answer(hidden).reference[:, 0], output, atol=1e-12)


def test_one_step_by_hand() -> None:
    """With x = 1 and all weights 1, biases 0: h1 = tanh(1), h2 = tanh(1 + h1)."""
    case = work_case("rnn", 2, heads=1, dim=1, batch=1, dtype="float64")
    one, zero = torch.ones(1, 1, dtype=torch.float64), torch.zeros(1, dtype=torch.float64)
    names = {"weight_ih": one, "weight_hh": one, "bias_ih": zero, "bias_hh": zero}
    hidden = Hidden(case, torch.ones(1, 2, 1, dtype=torch.float64), names)
    first = math.tanh(1)
    expected = [first, math.tanh(1 + first)]
    assert recurrent_answer(hidden).reference.flatten().tolist() == pytest.approx(expected)
    assert invariants.run(BACKENDS["rnn"], hidden).flatten().tolist() == pytest.approx(expected)


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_recurrence_agrees(kind: str, dtype: str) -> None:
    for length in (1, 40):
        found = judge(kind, length, dtype=dtype)
        assert found.agrees, found.reason


@pytest.mark.parametrize("kind", KINDS)
def test_a_forgotten_state_disagrees(kind: str) -> None:
    hidden = make_recurrent(work_case(kind))
    weights = dict(hidden.weights) | {"weight_hh": torch.zeros_like(hidden.weights["weight_hh"])}
    output = invariants.run(BACKENDS[kind], Hidden(hidden.case, hidden.states, weights))
    assert not recurrent_answer(hidden).check(output).agrees


@pytest.mark.parametrize("kind", KINDS)
def test_states_one_position_late_disagree(kind: str) -> None:
    hidden = make_recurrent(work_case(kind))
    output = invariants.run(BACKENDS[kind], hidden)
    assert not recurrent_answer(hidden).check(output.roll(1, 1)).agrees
