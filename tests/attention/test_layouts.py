"""Layouts and masks of the GPU libraries, against stand-ins that do what their manuals say."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest
import torch

from harness.attention.agreement import check
from harness.attention.backend import broken
from harness.attention.backends import BACKENDS
from harness.attention.behaviours import invariants
from harness.attention.inputs import make_inputs
from harness.cases.masks import MASK_CODES
from tests.support.worked_example import case_of

SHAPES = [(24, 24), (9, 30), (30, 9), (1, 17)]

# ALiBi is refused before any layout is made; the last test asks for the reason.
SERVED_MASKS = [mask for mask in MASK_CODES if mask != "alibi"]


def softmax_attention(query: Any, key: Any, value: Any, scale: float, keep: Any) -> Any:
    """[.., H, T, D] with a boolean mask; empty rows give 0 as the fused kernels do."""
    scores = (query.float() @ key.float().mT * scale).masked_fill(~keep, float("-inf"))
    return (scores.softmax(-1).nan_to_num(0.0) @ value.float()).to(query.dtype)


def flash_attn_func(
    q: Any, k: Any, v: Any, *, softmax_scale: float, causal: bool, window_size: Any = (-1, -1)
) -> Any:
    """Causal masks and windows are aligned bottom-right: FlashAttention >= 2.1."""
    q, k, v = (t.transpose(1, 2) for t in (q, k, v))
    groups = q.shape[1] // k.shape[1]
    rows, keys = torch.arange(q.shape[2])[:, None], torch.arange(k.shape[2])
    end = rows + k.shape[2] - q.shape[2]
    keep = keys <= end if causal else torch.ones(q.shape[2], k.shape[2], dtype=torch.bool)
    if window_size[0] >= 0:
        keep = keep & (keys >= end - window_size[0])
    k, v = (t.repeat_interleave(groups, dim=1) for t in (k, v))
    return softmax_attention(q, k, v, softmax_scale, keep).transpose(1, 2).contiguous()


def flash_attn_varlen_func(
    q: Any,
    k: Any,
    v: Any,
    *,
    cu_seqlens_q: Any,
    cu_seqlens_k: Any,
    max_seqlen_q: int,
    max_seqlen_k: int,
    **options: Any,
) -> Any:
    assert max_seqlen_k == max(cu_seqlens_k.diff().tolist())
    assert max_seqlen_q == max(cu_seqlens_q.diff().tolist())
    assert k.shape[0] == cu_seqlens_k[-1]
    parts = []
    for entry in range(len(cu_seqlens_q) - 1):
        rows = slice(*cu_seqlens_q[entry : entry + 2].tolist())
        keys = slice(*cu_seqlens_k[entry : entry + 2].tolist())
        parts.append(flash_attn_func(q[rows][None], k[keys][None], v[keys][None], **options)[0])
    return torch.cat(parts)


@pytest.mark.parametrize("mask", SERVED_MASKS)
@pytest.mark.parametrize("name", ["flash-attn", "flash-attn-3", "flash-attn-4"])
def test_flash_attn(name: str, mask: str, monkeypatch: pytest.MonkeyPatch) -> None:
    backend: Any = BACKENDS[name]
    package = types.ModuleType(backend.module)
    package.flash_attn_func = flash_attn_func  # type: ignore[attr-defined]
    package.flash_attn_varlen_func = flash_attn_varlen_func  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "flash_attn", package)
    monkeypatch.setitem(sys.modules, backend.module, package)
    assert backend.unavailable("cuda") is None
    assert backend.unavailable("cpu").endswith("CUDA devices only")
    served = 0
    for rows, keys in SHAPES:
        case = case_of(mask, rows, keys, batch=2, heads_kv=2, dtype="bfloat16")
        if backend.unsupported(case) is None:
            inputs = make_inputs(case)
            found = check(invariants.run(backend, inputs), inputs)
            assert found.agrees, f"{case.id}: {found.reason}"
            served += 1
    expected = {"full": 4, "padding": 4, "causal-bottom-right": 4, "causal-padding": 0}
    assert served == expected.get(mask, 1)


def test_flash_attn_refuses_what_it_lacks() -> None:
    backend = BACKENDS["flash-attn"]
    assert "float16 and bfloat16" in (backend.unsupported(case_of("full", 8, 8)) or "")
    other_dims = case_of("full", 8, 8, dtype="float16", dim_value=8)
    assert "dim_value" in (backend.unsupported(other_dims) or "")
    assert BACKENDS["flash-attn-3"].unsupported(other_dims) is None
    crossed = case_of("causal", 4, 8, dtype="float16")
    assert "bottom-right" in (backend.unsupported(crossed) or "")


def memory_efficient_attention(
    query: Any, key: Any, value: Any, *, attn_bias: Any, scale: float, op: Any
) -> Any:
    """[B, T, H, D] or [B, T, G, H, D]; a bias object says itself what it stands for."""
    assert query.shape[2:-1] == key.shape[2:-1] == value.shape[2:-1]
    q, k, v = (t.movedim(1, -2) for t in (query, key, value))
    shape = (*q.shape[:-1], k.shape[-2])
    if attn_bias is None:
        keep = torch.ones(shape, dtype=torch.bool)
    elif isinstance(attn_bias, torch.Tensor):
        assert attn_bias.shape == shape
        assert attn_bias.stride(-2) % 8 == 0
        keep = attn_bias == 0
    else:
        keep = attn_bias.materialize(shape) == 0
    return softmax_attention(q, k, v, scale, keep).movedim(-2, 1)


@pytest.mark.parametrize("mask", SERVED_MASKS)
@pytest.mark.parametrize("name", [name for name in BACKENDS if name.startswith("xformers")])
@pytest.mark.parametrize("heads_kv", [4, 2])
def test_xformers(name: str, mask: str, heads_kv: int, monkeypatch: pytest.MonkeyPatch) -> None:
    reason = broken("xformers.ops")
    if reason is not None:
        pytest.skip(reason)
    import xformers.ops

    monkeypatch.setattr(xformers.ops, "memory_efficient_attention", memory_efficient_attention)
    for rows, keys in SHAPES:
        case = case_of(mask, rows, keys, batch=2, heads_kv=heads_kv)
        inputs = make_inputs(case)
        found = check(invariants.run(BACKENDS[name], inputs), inputs)
        assert found.agrees, f"{case.id}: {found.reason}"


@pytest.mark.parametrize("name", ["flash-attn", "flash-attn-3", "flash-attn-4", "xformers"])
def test_alibi_is_refused_with_a_reason(name: str) -> None:
    reason = BACKENDS[name].unsupported(case_of("alibi", 24, 24, dtype="bfloat16"))
    assert reason is not None
    assert "alibi" in reason or "bias" in reason
