"""Planted faults must be caught, and the honest formula must pass, in every dtype."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from harness.attention.agreement import Oracle, check
from harness.attention.inputs import Inputs, keep_mask, make_inputs
from harness.attention.reference import by_rows, oracle, plain
from harness.cases.case import Case
from harness.cases.masks import MASK_CODES
from harness.cases.shape import DTYPE_CODES
from tests.support.worked_example import case_of


def attend(
    inputs: Inputs, *, keep: torch.Tensor | None = None, scale: float | None = None
) -> torch.Tensor:
    """Compute attention the plain way in float64 with a mask and scale of the test's choice."""
    scores = inputs.query.double() @ inputs.key.double().mT * (scale or inputs.scale)
    keep = keep_mask(inputs.case) if keep is None else keep
    weights = scores.masked_fill(~keep, float("-inf")).softmax(-1)
    return (weights @ inputs.value.double()).to(inputs.query.dtype)


def upside_down(inputs: Inputs) -> torch.Tensor:
    """Hide what should be seen; the last row sees nothing and gives NaN, as in the wild."""
    return attend(inputs, keep=~keep_mask(inputs.case))


def upside_down_zeroed(inputs: Inputs) -> torch.Tensor:
    return upside_down(inputs).nan_to_num(0.0)


def mask_after_softmax(inputs: Inputs) -> torch.Tensor:
    weights = (inputs.query.double() @ inputs.key.double().mT * inputs.scale).softmax(-1)
    return (weights * keep_mask(inputs.case) @ inputs.value.double()).to(inputs.query.dtype)


def unscaled(inputs: Inputs) -> torch.Tensor:
    return attend(inputs, scale=1.0)


def zeros(inputs: Inputs) -> torch.Tensor:
    return torch.zeros_like(attend(inputs))


def mean_of_values(inputs: Inputs) -> torch.Tensor:
    return inputs.value.mean(2, keepdim=True).expand_as(inputs.query).contiguous()


def one_nan(inputs: Inputs) -> torch.Tensor:
    output = attend(inputs)
    output[0, 1, 5, 3] = float("nan")
    return output


def one_wrong_row(inputs: Inputs) -> torch.Tensor:
    output = attend(inputs)
    output[0, 1, -1] = output[0, 1, -2].clone()
    return output


def wrong_head_order(inputs: Inputs) -> torch.Tensor:
    return attend(inputs).flip(1)


def off_by_one(inputs: Inputs) -> torch.Tensor:
    """See one key too many: the future leaks."""
    rows = torch.arange(inputs.case.length_query)[:, None]
    return attend(inputs, keep=torch.arange(inputs.case.length_key) <= rows + 1)


FAULTS = [upside_down, upside_down_zeroed, mask_after_softmax, unscaled, zeros, mean_of_values]
FAULTS += [one_nan, one_wrong_row, wrong_head_order, off_by_one]


@pytest.mark.parametrize("dtype", DTYPE_CODES)
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_under_a_causal_mask_are_caught(
    fault: Callable[[Inputs], torch.Tensor], dtype: str
) -> None:
    inputs = make_inputs(case_of("causal", 96, 96, dtype=dtype))
    found = check(fault(inputs), inputs)
    assert not found.agrees
    assert found.reason


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_late_rows_are_not_excused_by_the_first(dtype: str) -> None:
    """Row 0 is a value itself, near 4; row 1023 is near 0.05. Zeros in its place must fail."""
    inputs = make_inputs(case_of("causal", 1024, 1024, dtype=dtype, heads=2, heads_kv=2))
    output = by_rows(inputs, plain)
    assert check(output, inputs).agrees
    output[:, :, 900:] = 0
    assert not check(output, inputs).agrees


@pytest.mark.parametrize("dtype", DTYPE_CODES)
def test_zeros_fail_at_16384_and_the_naive_formula_passes(dtype: str) -> None:
    inputs = make_inputs(Case.square(16384, heads=1, dim=16, dtype=dtype))
    judge = Oracle(inputs)
    assert len(judge.rows) < 1000
    output = torch.zeros_like(inputs.value)
    assert not judge.check(output).agrees
    output[:, :, judge.rows] = by_rows(inputs, plain, rows=judge.rows)
    assert judge.check(output).agrees


@pytest.mark.parametrize("dtype", DTYPE_CODES)
@pytest.mark.parametrize("mask", MASK_CODES)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_naive_formula_agrees(mask: str, dtype: str, seed: int) -> None:
    inputs = make_inputs(case_of(mask, 70, 70, batch=2, heads_kv=2, dtype=dtype), seed=seed)
    found = check(by_rows(inputs, plain), inputs)
    assert found.agrees, found.reason
    assert found.error_max is not None
    assert found.tolerance is not None
    assert found.error_max <= found.tolerance <= 0.05 * found.error_max / (found.error_rel or 1)
    assert found.reason is None


def test_a_transposed_layout_is_caught_although_the_shape_is_right() -> None:
    inputs = make_inputs(case_of("full", 8, 8, heads=8, heads_kv=8))
    swapped = [t.transpose(1, 2).contiguous() for t in (inputs.query, inputs.key, inputs.value)]
    wrong = Inputs(inputs.case, *swapped)
    assert not check(attend(wrong), inputs).agrees
    assert check(attend(inputs), inputs).agrees


def test_reasons_are_clear() -> None:
    inputs = make_inputs(case_of("full", 8, 8))
    judge = Oracle(inputs)
    right = attend(inputs)
    assert judge.check(right[:, :, :4]).reason == "shape (1, 4, 4, 16) instead of (1, 4, 8, 16)"
    assert judge.check(right.half()).reason == "dtype float16 instead of float32"
    wrong = right.clone()
    wrong[0, 1, 5, 3] += 1
    assert (judge.check(wrong).reason or "").startswith("largest error 1 at [0, 1, 5, 3], allowed")
    wrong[0, 1, 5, 3] = float("inf")
    told = judge.check(wrong)
    assert told.reason == "NaN or infinity in 1 of 512 values, first at [0, 1, 5, 3]"
    assert told.error_max is None
    assert told.error_ratio is None


def test_a_reference_that_is_not_finite_is_an_error_of_the_case() -> None:
    inputs = make_inputs(case_of("full", 4, 4))
    inputs.value[0, 0, 0, 0] = float("nan")
    with pytest.raises(ValueError, match="not finite in 4 of 256 values"):
        Oracle(inputs)


def test_error_ratio_tells_accurate_from_acceptable() -> None:
    inputs = make_inputs(case_of("full", 512, 512, dtype="bfloat16", dim_key=128))
    inputs.query.mul_(4)
    judge = Oracle(inputs)
    fused = judge.check(oracle(inputs).bfloat16())
    naive = judge.check(by_rows(inputs, plain))
    assert fused.error_ratio is not None
    assert naive.error_ratio is not None
    assert fused.error_ratio < 1.5 < naive.error_ratio


def test_overflow_of_the_naive_formula_leaves_five_per_cent() -> None:
    """Scores beyond 65504 in float16: naive gives NaN and must not excuse anything."""
    inputs = make_inputs(case_of("full", 16, 16, dtype="float16"))
    inputs.query.mul_(4000)
    inputs.key.mul_(40)
    judge = Oracle(inputs)
    assert judge.check(oracle(inputs).half()).agrees
    assert not judge.check(torch.zeros_like(inputs.value)).agrees
