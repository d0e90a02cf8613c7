"""Every backend of the one list: agrees with the oracle, or says in one line why it does not."""

from __future__ import annotations

import functools

import pytest
import torch

from harness.attention.agreement import Oracle
from harness.attention.backend import Unsupported
from harness.attention.backends import BACKENDS
from harness.attention.behaviours import invariants
from harness.attention.inputs import Inputs, make_inputs
from harness.attention.probe import probe
from harness.cases.case import Case
from harness.cases.masks import MASK_CODES
from harness.cases.shape import DTYPE_CODES
from tests.support.worked_example import case_of, worked_example

# Rows, keys, and fields. Lengths off the tile, crossed both ways, dims and heads that differ.
SHAPES = {
    "t33": (33, 33, {}),
    "t65": (65, 65, {"batch": 2}),
    "t129-gqa": (129, 129, {"heads_kv": 2}),
    "one": (1, 1, {}),
    "decode": (1, 70, {}),
    "wide": (40, 300, {"batch": 2, "heads_kv": 1}),
    "tall": (300, 40, {"batch": 2}),
    "dims": (50, 50, {"dim_value": 8}),
    "several-blocks": (400, 600, {"heads": 2, "heads_kv": 1, "batch": 2}),
}
FEWER_SHAPES = ("t33", "t129-gqa", "decode")
COMPILED = ["flex"]  # seconds per case: few cases here, the rest is marked slow
# With dim_key 16 and 40, 56 or 104 keys, torch 2.13's CPU FlexAttention reads past the key's end.
COMPILED_DIMS = {"dim_key": 64, "dim_value": 64}
ATTENTION = [name for name, backend in BACKENDS.items() if backend.work == "attention"]
ORDINARY = [name for name in ATTENTION if name not in COMPILED]


@functools.cache
def available(name: str) -> str | None:
    return probe(BACKENDS[name], "cpu")


def require(name: str) -> None:
    reason = available(name)
    if reason is not None:
        assert_one_line(reason)
        pytest.skip(reason)


def assert_one_line(reason: str) -> None:
    assert 10 < len(reason) <= 160
    assert "\n" not in reason
    assert "0x" not in reason
    assert "Traceback" not in reason


@functools.cache
def judged(case: Case) -> tuple[Inputs, Oracle]:
    inputs = make_inputs(case)
    return inputs, Oracle(inputs)


def assert_agrees_or_refuses(name: str, case: Case) -> None:
    backend = BACKENDS[name]
    inputs, judge = judged(case)
    reason = backend.unsupported(case)
    if reason is None:
        try:
            found = judge.check(invariants.run(backend, inputs))
        except Unsupported as error:
            reason = str(error)
        else:
            assert found.agrees, f"{case.id}: {found.reason}"
    if reason is not None:
        assert_one_line(reason)


@pytest.mark.parametrize("name", BACKENDS)
def test_runs_here_or_says_why_not(name: str) -> None:
    if (reason := available(name)) is not None:
        assert_one_line(reason)


@pytest.mark.parametrize("dtype", DTYPE_CODES)
@pytest.mark.parametrize("name", ORDINARY)
def test_agrees_with_the_oracle_or_refuses(name: str, dtype: str) -> None:
    require(name)
    for mask in MASK_CODES:
        for shape in SHAPES if dtype == "float32" else FEWER_SHAPES:
            rows, keys, fields = SHAPES[shape]
            assert_agrees_or_refuses(name, case_of(mask, rows, keys, dtype=dtype, **fields))


@pytest.mark.parametrize("name", ORDINARY)
def test_invariants(name: str) -> None:
    require(name)
    for mask in MASK_CODES:
        for dtype, rows, keys in (("float32", 65, 65), ("bfloat16", 33, 80)):
            case = case_of(mask, rows, keys, heads_kv=2, batch=2, dtype=dtype)
            if BACKENDS[name].unsupported(case) is None:
                assert invariants.broken(BACKENDS[name], case) == []


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ORDINARY)
def test_worked_example(name: str, dtype: str) -> None:
    """Claims A1 to A3: one row in full; and key 3 hidden before softmax, not after."""
    require(name)
    backend, inputs = BACKENDS[name], worked_example("full", dtype)
    first = invariants.run(backend, inputs).flatten()[0].item()
    assert first == pytest.approx(17 / 3, rel=1e-6)
    weights = worked_example("full", dtype)
    for entry, expected in enumerate([1 / 6, 2 / 6, 3 / 6]):
        weights.value = torch.eye(3, dtype=inputs.value.dtype)[entry].view(1, 1, 3, 1)
        got = invariants.run(backend, weights).flatten()[0].item()
        assert got == pytest.approx(expected, rel=1e-6)
    masked = hide_third_key(weights)
    for entry, expected in enumerate([1 / 3, 2 / 3, 0.0]):
        masked.value = torch.eye(3, dtype=inputs.value.dtype)[entry].view(1, 1, 3, 1)
        got = invariants.run(backend, masked).flatten()[0].item()
        assert got == pytest.approx(expected, rel=1e-6, abs=1e-12)


def hide_third_key(inputs: Inputs) -> Inputs:
    """Put q = 1 at row 1, which sees keys 0 and 1 under a causal mask; return that row first."""
    query = inputs.query[:, :, :1].expand(-1, -1, 2, -1).contiguous()
    case = inputs.case.with_(mask="causal-bottom-right", length_query=2)
    return Inputs(case=case, query=query, key=inputs.key, value=inputs.value)


@pytest.mark.parametrize("name", ORDINARY)
def test_strided_inputs(name: str) -> None:
    """Tensors cut out of [B, T, 3, H, D], as a projection leaves them."""
    require(name)
    packed = torch.randn(2, 40, 3, 4, 16, generator=torch.Generator().manual_seed(3))
    query, key, value = packed.permute(2, 0, 3, 1, 4)
    for mask in ("full", "causal", "padding"):
        case = case_of(mask, 40, 40, batch=2)
        inputs = Inputs(case=case, query=query, key=key, value=value)
        found = Oracle(inputs).check(invariants.run(BACKENDS[name], inputs))
        assert found.agrees, found.reason


@pytest.mark.parametrize("name", ORDINARY)
def test_backward_by_autograd_agrees_or_is_refused(name: str) -> None:
    from harness.attention.gradients import check_gradients

    require(name)
    backend = BACKENDS[name]
    case = case_of("causal", 40, 40, heads_kv=2, phase="backward")
    if (reason := backend.unsupported(case)) is not None:
        return assert_one_line(reason)
    inputs = make_inputs(case)
    leaves = [t.requires_grad_() for t in (inputs.query, inputs.key, inputs.value)]
    call = backend.prepare(case, inputs.fresh())
    seed = torch.randn(1, 4, 40, 16, generator=torch.Generator().manual_seed(4))
    for _ in range(2):  # what prepare made survives the first backward
        gradients = torch.autograd.grad(call(), leaves, seed)
    found = check_gradients(gradients, inputs, grad_output=seed)
    assert found.agrees, found.reason


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_backends_agree(name: str) -> None:
    """Two compilations: a block mask with padding and shared heads, and crossed lengths."""
    require(name)
    assert_agrees_or_refuses(
        name, case_of("causal-padding", 300, 300, batch=2, heads_kv=2, **COMPILED_DIMS)
    )


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["one", "wide", "tall"])
@pytest.mark.parametrize("mask", MASK_CODES)
@pytest.mark.parametrize("name", COMPILED)
def test_compiled_backends_agree_everywhere(name: str, mask: str, shape: str) -> None:
    require(name)
    rows, keys, fields = SHAPES[shape]
    assert_agrees_or_refuses(name, case_of(mask, rows, keys, **COMPILED_DIMS, **fields))


@pytest.mark.parametrize("name", COMPILED)
@pytest.mark.parametrize("fields", [{"dtype": "float64"}, {"phase": "backward"}])
def test_compiled_backends_say_what_a_cpu_lacks(name: str, fields: dict[str, str]) -> None:
    assert_one_line(BACKENDS[name].unsupported(case_of("full", 8, 8, **fields)) or "")


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("mask", MASK_CODES)
@pytest.mark.parametrize("name", ATTENTION)
def test_agrees_on_a_gpu_or_refuses(name: str, mask: str, dtype: str) -> None:
    reason = probe(BACKENDS[name], "cuda")
    if reason is not None:
        pytest.skip(reason)
    for rows, keys, fields in list(SHAPES.values())[1:3]:
        case = case_of(mask, rows, keys, dtype=dtype, device="cuda", dim_key=64, dim_value=64)
        assert_agrees_or_refuses(name, case.with_(**fields))
