"""ALiBi: slopes and bias as the paper says, and every backend right or refusing."""

from __future__ import annotations

import pytest
import torch

from harness.attention.agreement import Oracle
from harness.attention.backend import wrap_function
from harness.attention.backends import BACKENDS
from harness.attention.behaviours.invariants import run
from harness.attention.inputs import Inputs, keep_mask, make_inputs
from harness.attention.probe import probe
from harness.attention.reference import oracle
from harness.cases.case import Case
from harness.cases.masks import alibi_slopes
from tests.support.worked_example import case_of

HERE = ("naive", "rowwise", "tiled", "sdpa", "sdpa-math", "sdpa-flash")


def brute_force(inputs: Inputs) -> torch.Tensor:
    """One row at a time with plain sums, in float64: causal keys, slope times distance."""
    case = inputs.case
    output = torch.zeros(case.batch, case.heads, case.length_query, case.dim_value).double()
    for b, h, i in torch.cartesian_prod(*map(torch.arange, output.shape[:3])).tolist():
        group, slope = h // (case.heads // case.heads_kv), 2.0 ** (-8 * (h + 1) / case.heads)
        weights = torch.zeros(case.length_key).double()
        for j in range(min(i + 1, case.length_key)):
            score = inputs.key[b, group, j].double() @ inputs.query[b, h, i].double()
            weights[j] = torch.exp(score * inputs.scale - slope * (i - j))
        output[b, h, i] = weights @ inputs.value[b, group].double() / weights.sum()
    return output


def test_slopes_are_those_of_the_paper() -> None:
    assert alibi_slopes(8) == [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]
    assert alibi_slopes(1) == [1 / 256]


def test_the_bias_is_zero_at_home_and_hides_the_future() -> None:
    bias = make_inputs(Case.square(3, heads=2, mask="alibi")).bias()
    assert bias is not None
    infinite = float("-inf")
    assert bias[0, 0].tolist() == [
        [0, infinite, infinite],
        [-1 / 16, 0, infinite],
        [-0.125, -1 / 16, 0],
    ]
    assert bias[0, 1, 2].tolist() == [-2 / 256, -1 / 256, 0]
    assert bias.shape == (1, 2, 3, 3)


@pytest.mark.parametrize(("rows", "keys"), [(7, 7), (3, 9), (9, 3)])
def test_the_oracle_is_brute_force(rows: int, keys: int) -> None:
    case = case_of("alibi", rows, keys, heads=4, heads_kv=2, batch=2, dim_value=5)
    inputs = make_inputs(case)
    torch.testing.assert_close(oracle(inputs), brute_force(inputs), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
@pytest.mark.parametrize("name", HERE)
def test_backends_agree(name: str, dtype: str) -> None:
    for rows, keys, fields in (
        (33, 33, {}),
        (150, 150, {"batch": 2, "heads_kv": 2}),
        (40, 70, {}),
    ):
        case = case_of("alibi", rows, keys, dtype=dtype, **fields)
        inputs = make_inputs(case)
        found = Oracle(inputs).check(run(BACKENDS[name], inputs))
        assert found.agrees, f"{case.id}: {found.reason}"


@pytest.mark.parametrize("name", HERE)
def test_a_bias_left_out_or_turned_around_disagrees(name: str) -> None:
    case = case_of("alibi", 40, 40)
    inputs = make_inputs(case)
    judge = Oracle(inputs)
    plain = Inputs(case.with_(mask="causal"), inputs.query, inputs.key, inputs.value)
    assert not judge.check(run(BACKENDS[name], plain)).agrees
    heads = [tensor.flip(1) for tensor in (inputs.query, inputs.key, inputs.value)]
    turned = run(BACKENDS[name], Inputs(case, *heads)).flip(1)
    assert not judge.check(turned).agrees


def test_who_cannot_refuses_with_a_reason() -> None:
    case = case_of("alibi", 40, 40)
    names = [name for name in BACKENDS if name.startswith(("xformers", "flash-attn"))]
    reasons = [BACKENDS[name].unsupported(case.with_(dtype="float16")) for name in names]
    assert all(reasons)
    own = wrap_function("mine", lambda *tensors: tensors[2])
    assert own.unsupported(case) == "its boolean mask cannot say a bias"


def test_the_pairs_are_those_of_causal_and_an_explicit_bias_is_charged() -> None:
    case = Case.square(64, mask="alibi")
    assert case.pairs() == int(keep_mask(case).sum()) == 64 * 65 // 2
    assert case.id == "fwd-t64-h4-d64-f32-alibi"
    inputs = make_inputs(case)
    BACKENDS["sdpa"].prepare(case, inputs)
    assert inputs.mask_bytes == 4 * 4 * 64 * 64
    inputs = inputs.fresh()
    BACKENDS["tiled"].prepare(case, inputs)
    assert inputs.mask_bytes < 2000


def test_gradients_are_those_of_autograd() -> None:
    from harness.attention.gradients import oracle_gradients

    case = case_of("alibi", 9, 9, heads_kv=2, batch=2, dtype="float64")
    inputs = make_inputs(case)
    leaves = [t.requires_grad_() for t in (inputs.query, inputs.key, inputs.value)]
    output = BACKENDS["naive"].prepare(case, inputs)()
    seed = torch.randn(output.shape, dtype=torch.float64)
    expected = torch.autograd.grad(output, leaves, seed)
    for ours, theirs in zip(oracle_gradients(inputs, seed), expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-12)


@pytest.mark.slow
def test_flex_agrees() -> None:
    if (reason := probe(BACKENDS["flex"], "cpu")) is not None:
        pytest.skip(reason)
    inputs = make_inputs(case_of("alibi", 300, 300, heads_kv=2, dim_key=64, dim_value=64))
    found = Oracle(inputs).check(run(BACKENDS["flex"], inputs))
    assert found.agrees, found.reason
