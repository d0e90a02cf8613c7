"""Raw: a library's own function with a user's arguments, for what no case can say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.attention.backend import Backend, Unsupported
from harness.attention.backends.naive import Naive
from harness.attention.backends.sdpa import Sdpa
from harness.attention.held import held

if TYPE_CHECKING:
    import torch


def raw(
    backend: Backend,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    **options: Any,
) -> torch.Tensor:
    """Call the function behind a backend as a user would, and return its output.

    `options` are those of torch's scaled_dot_product_attention: attn_mask (boolean, True keeps,
    or additive), is_causal, scale. The naive formula has no is_causal. Raises Unsupported for
    backends that have no such function.
    """
    if isinstance(backend, Sdpa):
        return _sdpa(backend, query, key, value, options)
    if isinstance(backend, Naive) and "is_causal" not in options:
        return _formula(query, key, value, **options)
    raise Unsupported("it has no function of its own that takes these arguments")


def _sdpa(
    backend: Sdpa,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    options: dict[str, Any],
) -> torch.Tensor:
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    def call() -> Any:
        return scaled_dot_product_attention(query, key, value, **options)

    with torch.no_grad():
        found: torch.Tensor = held(call, kernel=backend.kernel)() if backend.kernel else call()
    return found


def _formula(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    *,
    attn_mask: torch.Tensor | None = None,
    scale: float | None = None,
) -> torch.Tensor:
    """Compute softmax(query keyᵀ scale + mask) value as it is written."""
    import torch

    factor = query.shape[-1] ** -0.5 if scale is None else scale
    scores = (query * factor) @ key.mT
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        scores = scores.masked_fill(~attn_mask, float("-inf"))
    elif attn_mask is not None:
        scores = scores + attn_mask
    return scores.softmax(-1) @ value
