"""Raw: a library's own function with a user's arguments, for what no case can say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.attention.backend import Backend, Unsupported
from harness.attention.backends.naive import Naive
from harness.attention.backends.sdpa import Sdpa, held
from harness.records.record import Seen

if TYPE_CHECKING:
    import torch

    from harness.attention.behaviours.subject import Subject

# The first dtype is asked for; the next one only where a backend refuses it.
USUAL = ("float32", "float16", "bfloat16")
EXACT = ("float64", "float32", "float16")


Check = Callable[["Subject"], Seen]


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """Ask one question of a backend.

    `sources` are ids of claims (`A5`) and rows of the list of known troubles (`trouble-7`).
    A `risky` one has been seen to kill a process. `alone` asks torch itself, without a backend.
    With `may_raise` an exception is as good as the right answer: it counts as a refusal.
    """

    id: str
    sentence: str
    sources: tuple[str, ...]
    check: Check
    dtypes: tuple[str, ...] = USUAL
    risky: bool = False
    alone: bool = False
    may_raise: bool = False


BEHAVIOURS: dict[str, Behaviour] = {}


def behaviour(
    id: str,
    sentence: str,
    *sources: str,
    dtypes: tuple[str, ...] = USUAL,
    risky: bool = False,
    alone: bool = False,
    may_raise: bool = False,
) -> Callable[[Check], Check]:
    """Add a check to the list of behaviours; `sentence` says what is right."""

    def add(check: Check) -> Check:
        if id in BEHAVIOURS:
            raise ValueError(f"behaviour {id!r} is listed twice")
        BEHAVIOURS[id] = Behaviour(
            id=id,
            sentence=sentence,
            sources=sources,
            check=check,
            dtypes=dtypes,
            risky=risky,
            alone=alone,
            may_raise=may_raise,
        )
        return check

    return add


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
