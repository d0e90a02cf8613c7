"""The sdpa backends: torch's scaled_dot_product_attention, free to choose or held to a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from harness.attention.backend import Backend, Call, backend
from harness.attention.held import held
from harness.attention.spans import empty_rows

if TYPE_CHECKING:
    from harness.attention.inputs import Inputs
    from harness.case import Case


@backend
class Sdpa(Backend):
    """Let torch choose the kernel; the record says which one ran."""

    name = "sdpa"
    kernel: ClassVar[str | None] = None
    takes_mask = True

    def prepare(self, case: Case, inputs: Inputs) -> Call:
        """Choose is_causal, a causal bias or an explicit 4-D mask, and hold torch to the kernel.

        `is_causal` aligns top-left, so it serves `causal`, and `causal-bottom-right` only when
        the lengths are equal. In an explicit mask True keeps. A 3-D mask would become MATH.
        """
        from torch.nn.functional import scaled_dot_product_attention

        options = {"scale": inputs.scale, **self.masking(case, inputs)}
        if case.heads != case.heads_kv:
            options["enable_gqa"] = True
        query, key, value = inputs.query, inputs.key, inputs.value

        def call() -> Any:
            return scaled_dot_product_attention(query, key, value, **options)

        return call if self.kernel is None else held(call, kernel=self.kernel)

    def masking(self, case: Case, inputs: Inputs) -> dict[str, Any]:
        """Return the mask arguments of a case."""
        square = case.length_query == case.length_key
        if case.mask == "alibi":
            return {"attn_mask": inputs.bias()}
        if inputs.explicit is not None:
            return {"attn_mask": inputs.keep()}
        if case.mask == "full":
            return {}
        if case.mask == "causal" or (case.mask == "causal-bottom-right" and square):
            return {"is_causal": True}
        if case.mask == "causal-bottom-right" and self._takes_lower_right(case):
            from torch.nn.attention.bias import causal_lower_right

            return {"attn_mask": causal_lower_right(case.length_query, case.length_key)}
        return {"attn_mask": inputs.keep()}

    def _takes_lower_right(self, case: Case) -> bool:
        """Only CUDA's flash and efficient kernels take the bias; others build T×T in each call."""
        fused = self.kernel in (None, "flash", "mem_efficient")
        plain = case.heads == case.heads_kv and not empty_rows(case)
        return case.device.startswith("cuda") and fused and plain


@backend
class SdpaMath(Sdpa):
    """The unfused composition inside torch: two score matrices and a byte mask at the peak."""

    name = "sdpa-math"
    kernel = "math"
    pinned_kernel = "_scaled_dot_product_attention_math"
    score_matrices = 2.25
    score_matrices_training = 3.0
    pinned_backward = "_softmax_backward_data"


@backend
class SdpaFlash(Sdpa):
    """FlashAttention inside torch; on a CPU torch's own tiled kernel."""

    name = "sdpa-flash"
    kernel = "flash"
    pinned_kernel = "_scaled_dot_product_flash_attention"
    pinned_backward = r"_flash_attention\w*_backward"
    recomputes = True


@backend
class SdpaEfficient(Sdpa):
    """The memory-efficient (cutlass) kernel inside torch."""

    name = "sdpa-efficient"
    kernel = "mem_efficient"
    # The lower-right bias goes to the second operator.
    pinned_kernel = "_scaled_dot_product_efficient_attention|_efficient_attention_forward"
    pinned_backward = r"_efficient_attention\w*_backward"
    recomputes = True


@backend
class SdpaCudnn(Sdpa):
    """cuDNN's fused attention inside torch."""

    name = "sdpa-cudnn"
    kernel = "cudnn"
    pinned_kernel = "_scaled_dot_product_cudnn_attention"
    pinned_backward = r"_cudnn_attention\w*_backward"
    recomputes = True
