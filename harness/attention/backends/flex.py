"""The flex backend: FlexAttention, compiled anew for each case."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from harness.attention.backend import Backend, Call, Unsupported, backend, reason_of
from harness.cases.masks import MASKS, alibi_slopes

if TYPE_CHECKING:
    import torch

    from harness.attention.inputs import Inputs
    from harness.cases.case import Case

BLOCK = 128  # FlexAttention's own default block of its sparse mask


@backend
class Flex(Backend):
    """Compile flex_attention with a block mask for one case; the first call compiles.

    A cold compile takes 7 to 9 s on a CPU (31 s for a process's first, with an empty inductor
    cache) and 0.4 s from the cache. Its rule for a row without a key is 0. On a CPU, torch 2.13
    reads past the key's end with dim_key 16 and 40, 56 or 104 keys: such a cell disagrees.
    """

    name = family = "flex"
    dense = skips_hidden = True
    recomputes = True
    compiled = True

    def unsupported(self, case: Case) -> str | None:
        """Refuse what FlexAttention lacks on a CPU."""
        if case.device == "cpu" and case.phase != "forward":
            return "FlexAttention has no backward on a CPU"
        if case.device == "cpu" and case.dtype == "float64":
            return "FlexAttention on a CPU takes float32, bfloat16 and float16 only"
        return None

    def prepare(self, case: Case, inputs: Inputs) -> Call:
        """Build the block mask and a function that compiles at its first call."""
        import torch
        from torch._dynamo.exc import Unsupported as CannotTrace
        from torch._inductor.exc import InductorError

        compiled = torch.compile(own_function(case.id), fullgraph=True, dynamic=False)
        grouped = case.heads != case.heads_kv
        options: dict[str, Any] = {"scale": inputs.scale, "enable_gqa": grouped}
        options["block_mask"] = block_mask(inputs)
        if MASKS[case.mask].biased:
            options["score_mod"] = linear_rule(inputs)
        query, key, value = inputs.query, inputs.key, inputs.value

        def call() -> torch.Tensor:
            try:
                return compiled(query, key, value, **options)  # type: ignore[no-any-return]
            except (InductorError, CannotTrace) as error:
                if "NotImplementedError" not in str(error):
                    raise
                reason = reason_of(str(error).partition("NotImplementedError: ")[2])
            raise Unsupported(reason)

        return call


def own_function(name: str) -> Callable[..., Any]:
    """Return flex_attention behind a code object of its own.

    Dynamo counts recompilations per code object: from the 9th length on it would refuse, or
    silently run eager and hold T×T. `torch._dynamo.reset()` would also drop other calls.
    """
    from torch.nn.attention.flex_attention import flex_attention

    def flex(query: Any, key: Any, value: Any, **options: Any) -> Any:
        return flex_attention(query, key, value, **options)

    code = flex.__code__.replace(co_name=f"flex_{name}")
    return types.FunctionType(code, flex.__globals__, code.co_name, None, flex.__closure__)


def block_mask(inputs: Inputs) -> Any:
    """Return the sparse mask of a case, or None if full; its tensors are charged as mask bytes.

    Built from the spans of rows, block by block, since torch's `create_block_mask` holds T×T.
    """
    import torch
    from torch.nn.attention.flex_attention import BlockMask

    case, device = inputs.case, inputs.key.device
    if case.mask == "full":
        return None
    some, every = (torch.tensor(table, device=device)[:, None] for table in _block_tables(case))
    partial = _in_order(some & ~every)
    full = _in_order(every)
    mask = BlockMask.from_kv_blocks(
        *partial,
        *full,
        BLOCK_SIZE=BLOCK,
        mask_mod=mask_rule(case, device),
        seq_lengths=(case.length_query, case.length_key),
    )
    inputs.mask_bytes += sum(t.numel() * t.element_size() for t in (*partial, *full))
    return mask


def _in_order(chosen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return how many blocks of a row are chosen, and all block numbers, the chosen ones first."""
    import torch

    counts = chosen.sum(-1, dtype=torch.int32)
    order = chosen.to(torch.int8).argsort(dim=-1, descending=True, stable=True)
    return counts, order.to(torch.int32).contiguous()


def _block_tables(case: Case) -> tuple[list[Any], list[Any]]:
    """Return for each batch entry, row block and key block: is any pair kept, are all kept."""
    kept = case.kept_keys() if len(set(case.kept_keys())) > 1 else case.kept_keys()[:1]
    firsts = range(0, case.length_query, BLOCK)
    starts = range(0, case.length_key, BLOCK)
    some: list[Any] = [[] for _ in kept]
    every: list[Any] = [[] for _ in kept]
    for entry, keys in enumerate(kept):
        for first in firsts:
            last = min(first + BLOCK, case.length_query) - 1
            low, high = case.key_span(first, kept=keys), case.key_span(last, kept=keys)
            whole = first + BLOCK <= case.length_query
            some[entry].append([max(low[0], s) < min(high[1], s + BLOCK) for s in starts])
            every[entry].append([whole and high[0] <= s and s + BLOCK <= low[1] for s in starts])
    return some, every


def mask_rule(case: Case, device: torch.device) -> Callable[..., Any]:
    """Return the rule (batch, head, query, key) -> keep that FlexAttention compiles in."""
    import torch

    kept = torch.tensor(case.kept_keys(), device=device)
    mask, window = MASKS[case.mask], case.window
    causal, padded = mask.causal is not None, mask.ragged
    shift = mask.own_end(case.length_query, case.length_key)

    def keep(batch: Any, head: Any, query: Any, key: Any) -> Any:
        seen = key < query + shift if causal else key >= 0
        if window is not None:
            seen = seen & (key >= query + shift - window)
        return seen & (key < kept[batch]) if padded else seen

    return keep


def linear_rule(inputs: Inputs) -> Callable[..., Any]:
    """Return the rule (score, batch, head, query, key) -> score that adds ALiBi's bias."""
    import torch

    slopes = torch.tensor(alibi_slopes(inputs.case.heads), device=inputs.key.device)
    inputs.mask_bytes += slopes.numel() * slopes.element_size()

    def tilt(score: Any, batch: Any, head: Any, query: Any, key: Any) -> Any:
        return score + slopes[head] * (key - query)

    return tilt
