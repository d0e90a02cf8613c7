"""The xformers backends: memory_efficient_attention, free to choose or held to an operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from harness.attention.backend import (
    Backend,
    Call,
    Unsupported,
    backend,
    broken,
    closest_refusal,
    load,
)
from harness.cases.masks import MASKS

if TYPE_CHECKING:
    import torch

    from harness.attention.inputs import Inputs
    from harness.cases.case import Case

NO_ALIBI = "no bias per head is handed to xformers here"
BIAS_ALIGNMENT = 8  # elements: the rows of a tensor bias must start on a multiple of it

# A kind of mask that is not among these is refused, not guessed.
KNOWN_MASKS = frozenset(
    ["full", "causal", "causal-bottom-right", "padding", "causal-padding", "sliding-window"]
) | {"alibi"}


@backend
class Xformers(Backend):
    """Let xformers choose the operator.

    Its layout is [B, T, H, D], or [B, T, Hkv, G, D] with shared key heads; both are made before
    the call. A build for another torch imports, warns and lists its operators as available; only
    a call tells.
    """

    name = family = package = "xformers"
    dense = skips_hidden = True
    masks = KNOWN_MASKS
    recomputes = True
    operator: ClassVar[str | None] = None
    # Takes keys padded per batch entry, packed as one sequence, and no tensor as a bias.
    packed: ClassVar[bool] = False
    takes_mask = True

    def unavailable(self, device: str) -> str | None:
        """Say why xformers cannot be imported."""
        return broken("xformers.ops")

    def unsupported(self, case: Case) -> str | None:
        """Refuse backward with shared key heads, which xformers lacks, and a bias per head."""
        if MASKS[case.mask].biased:
            return NO_ALIBI
        if case.phase != "forward" and case.heads != case.heads_kv:
            return "xformers has no backward with heads_kv below heads"
        return None

    def prepare(self, case: Case, inputs: Inputs) -> Call:
        """Lay out query, key and value, and make the bias object or tensor."""
        attend = load("xformers.ops").memory_efficient_attention
        query, key, value = (self._laid_out(t, case) for t in _grouped(inputs))
        options = {"attn_bias": self._bias(inputs), "scale": inputs.scale, "op": self._op(case)}
        shape = (case.batch, case.length_query, case.heads, case.dim_value)

        def call() -> torch.Tensor:
            try:
                output = attend(query, key, value, **options)
            except (NotImplementedError, ValueError) as error:
                reason = closest_refusal(str(error))
            else:
                return output.reshape(shape).transpose(1, 2)  # type: ignore[no-any-return]
            raise Unsupported(reason)

        return call

    def _op(self, case: Case) -> Any:
        """Return the pinned (forward, backward) operators, or None."""
        if self.operator is None:
            return None
        module = load(f"xformers.ops.fmha.{self.operator}")
        return module.FwOp, None if case.phase == "forward" else module.BwOp

    def _laid_out(self, tensor: torch.Tensor, case: Case) -> torch.Tensor:
        """Pack the batch into one sequence where the bias object speaks of a packed one."""
        return tensor.flatten(0, 1)[None] if self._packs(case) else tensor

    def _packs(self, case: Case) -> bool:
        return self.packed and case.mask == "padding"

    def _bias(self, inputs: Inputs) -> Any:
        case, kinds = inputs.case, load("xformers.ops.fmha.attn_bias")
        square = case.length_query == case.length_key
        if inputs.explicit is not None:
            return tensor_bias(inputs)
        if case.mask == "full":
            return None
        if case.mask == "causal":
            return kinds.LowerTriangularMask()
        if case.mask == "causal-bottom-right":
            return kinds.LowerTriangularFromBottomRightMask()
        if case.mask == "sliding-window" and square:
            return kinds.LowerTriangularFromBottomRightLocalAttentionMask(case.window)
        if self._packs(case):
            lengths = ([case.length_query] * case.batch, case.length_key, list(case.kept_keys()))
            return kinds.BlockDiagonalPaddedKeysMask.from_seqlens(
                *lengths, device=inputs.key.device
            )
        return tensor_bias(inputs)


@backend
class XformersCutlass(Xformers):
    """The cutlass operator."""

    name = "xformers-cutlass"
    operator = "cutlass"


@backend
class XformersFlash(Xformers):
    """The FlashAttention operator."""

    name = "xformers-flash"
    operator = "flash"
    packed = True


@backend
class XformersSplitK(Xformers):
    """The Triton split-K operator, made for few queries and many keys."""

    name = "xformers-splitk"
    operator = "triton_splitk"
    packed = True

    def unsupported(self, case: Case) -> str | None:
        """Refuse backward and a bias per head."""
        if MASKS[case.mask].biased:
            return NO_ALIBI
        return None if case.phase == "forward" else "the split-K operator has no backward"


def _grouped(inputs: Inputs) -> list[torch.Tensor]:
    """Return query, key, value as [B, T, H, D], or as [B, T, Hkv, G, D] with shared key heads."""
    case = inputs.case
    rows = [t.transpose(1, 2).contiguous() for t in (inputs.query, inputs.key, inputs.value)]
    if case.heads == case.heads_kv:
        return rows
    groups = case.heads // case.heads_kv
    query, key, value = rows
    shared = [t.unsqueeze(3).expand(-1, -1, -1, groups, -1) for t in (key, value)]
    return [query.view(case.batch, -1, case.heads_kv, groups, case.dim_key), *shared]


def tensor_bias(inputs: Inputs) -> torch.Tensor:
    """Return an additive bias [B, H, Tq, Tk] (or [B, Hkv, G, Tq, Tk]) with aligned rows."""
    case, bias = inputs.case, inputs.bias()
    assert bias is not None
    spare = -case.length_key % BIAS_ALIGNMENT
    aligned = bias.new_zeros((*bias.shape[:3], case.length_key + spare))[..., : case.length_key]
    aligned.copy_(bias)
    inputs.mask_bytes += spare * bias[..., 0].numel() * bias.element_size()
    if case.heads == case.heads_kv:
        return aligned.expand(case.batch, case.heads, -1, -1)
    groups = case.heads // case.heads_kv
    return aligned[:, None].expand(case.batch, case.heads_kv, groups, -1, -1)
