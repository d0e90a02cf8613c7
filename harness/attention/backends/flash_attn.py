"""The flash-attn backends: the FlashAttention packages, generations 2, 3 and 4."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from harness.attention.backend import Backend, Call, backend, broken, load
from harness.cases.masks import MASKS

if TYPE_CHECKING:
    import torch

    from harness.attention.inputs import Inputs
    from harness.cases.case import Case

# A kind of mask that is not among these is refused, not guessed.
KNOWN_MASKS = frozenset(
    ["full", "causal", "causal-bottom-right", "padding", "causal-padding", "sliding-window"]
) | {"alibi"}


@backend
class FlashAttn(Backend):
    """FlashAttention 2, package flash_attn, layout [B, T, H, D].

    Since version 2.1 its causal mask and its window are aligned bottom-right, so `causal` and
    `sliding-window` are served for equal lengths only. Padding goes through the packed (varlen)
    function: padded keys are cut out before the call.
    """

    name = family = package = "flash-attn"
    dense = skips_hidden = True
    masks = KNOWN_MASKS
    recomputes = True
    module: ClassVar[str] = "flash_attn"
    dtypes: ClassVar[tuple[str, ...]] = ("float16", "bfloat16")
    same_dims: ClassVar[bool] = True

    def unavailable(self, device: str) -> str | None:
        """Say why the package cannot be imported, or that it needs CUDA."""
        reason = broken(self.module)
        if reason is None and not device.startswith("cuda"):
            return f"{self.module} runs on CUDA devices only"
        return reason

    def unsupported(self, case: Case) -> str | None:
        """Refuse dtypes, dims and alignments that the package does not have."""
        if case.dtype not in self.dtypes:
            return f"FlashAttention takes {' and '.join(self.dtypes)} only"
        if self.same_dims and case.dim_key != case.dim_value:
            return "FlashAttention 2 wants dim_value equal to dim_key"
        if MASKS[case.mask].biased:
            return "its alibi_slopes are not handed over here"
        if case.mask == "causal-padding":
            return "its causal mask is aligned with the last kept key, not with the first"
        square = case.length_query == case.length_key
        if case.mask in ("causal", "sliding-window") and not square:
            return f"{case.mask} is aligned bottom-right there: equal lengths only"
        return None

    def prepare(self, case: Case, inputs: Inputs) -> Call:
        """Lay out the tensors as [B, T, H, D], packed without padded keys if there are any."""
        package = load(self.module)
        tensors = [
            t.transpose(1, 2).contiguous() for t in (inputs.query, inputs.key, inputs.value)
        ]
        options = _options(case) | {"softmax_scale": inputs.scale}
        attend = package.flash_attn_func
        if case.mask == "padding":
            attend, options = package.flash_attn_varlen_func, options | _lengths(inputs)
            tensors = _packed(tensors, case)
        query, key, value = tensors
        shape = (case.batch, case.length_query, case.heads, case.dim_value)

        def call() -> torch.Tensor:
            output = attend(query, key, value, **options)
            # Generations 3 and 4 may return (output, logsumexp).
            output = output[0] if isinstance(output, tuple) else output
            return output.view(shape).transpose(1, 2)  # type: ignore[no-any-return]

        return call


@backend
class FlashAttn3(FlashAttn):
    """FlashAttention 3, made for Hopper GPUs."""

    name = package = "flash-attn-3"
    module = "flash_attn_interface"
    same_dims = False


@backend
class FlashAttn4(FlashAttn):
    """FlashAttention 4, written in CuTe DSL for Hopper and Blackwell GPUs."""

    name = package = "flash-attn-4"
    module = "flash_attn.cute"
    same_dims = False


def _options(case: Case) -> dict[str, Any]:
    """Return the mask arguments; a window counts the keys to the left of its own position."""
    if case.mask == "sliding-window":
        assert case.window is not None
        return {"causal": True, "window_size": (case.window - 1, 0)}
    return {"causal": case.mask in ("causal", "causal-bottom-right")}


def _lengths(inputs: Inputs) -> dict[str, Any]:
    """Return where each sequence starts in the packed tensors, charged as mask bytes."""
    import torch

    case, device = inputs.case, inputs.key.device
    queries = torch.arange(case.batch + 1, dtype=torch.int32, device=device) * case.length_query
    kept = torch.tensor((0, *case.kept_keys()), dtype=torch.int32, device=device)
    keys = kept.cumsum(0, dtype=torch.int32)
    inputs.mask_bytes += (queries.numel() + keys.numel()) * keys.element_size()
    return {
        "cu_seqlens_q": queries,
        "cu_seqlens_k": keys,
        "max_seqlen_q": case.length_query,
        "max_seqlen_k": max(case.kept_keys()),
    }


def _packed(tensors: list[torch.Tensor], case: Case) -> list[torch.Tensor]:
    """Join the batch into one sequence [tokens, H, D], without the padded keys."""
    import torch

    query, key, value = tensors
    kept = case.kept_keys()

    def cut(rows: torch.Tensor) -> torch.Tensor:
        return torch.cat([entry[:length] for entry, length in zip(rows, kept, strict=True)])

    return [query.flatten(0, 1), cut(key), cut(value)]
