"""SDPA: torch's scaled_dot_product_attention, free or held to one kernel."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from harness.attention.backend import Backend, Call, Unsupported, backend, reason_of
from harness.cases.masks import MASKS

if TYPE_CHECKING:
    from harness.attention.inputs import Inputs
    from harness.cases.case import Case

KERNELS = ("flash", "mem_efficient", "math", "cudnn")
# How torch says that a kernel it was held to cannot run.
REFUSALS = (
    "No available kernel",
    "No viable backend",
    "cuDNN Frontend error",
    "No valid execution",
)


def held(call: Call, *, kernel: str) -> Call:
    """Return the call with every other kernel switched off while it runs.

    Does what `sdpa_kernel([...])` does, through the same public switches: that context manager
    costs 21 µs a call (measured, torch 2.13), these a µs. The switches are global and backends
    take turns, so they are set around each call and put back.
    """
    changes = [
        (switch, name == kernel) for name, switch in _switches() if _on(name) != (name == kernel)
    ]

    def held_call() -> Any:
        for switch, wanted in changes:
            switch(wanted)
        try:
            return call()
        except (RuntimeError, UserWarning) as error:
            if not isinstance(error, UserWarning) and not str(error).startswith(REFUSALS):
                raise
            reason = refusal(call, error)
        finally:
            for switch, wanted in changes:
                switch(not wanted)
        raise Unsupported(reason)

    return held_call


def _switches() -> list[tuple[str, Callable[[bool], None]]]:
    import torch

    return [(name, getattr(torch.backends.cuda, f"enable_{name}_sdp")) for name in KERNELS]


def _on(name: str) -> bool:
    import torch

    enabled: bool = getattr(torch.backends.cuda, f"{name}_sdp_enabled")()
    return enabled


def refusal(call: Call, error: Exception) -> str:
    """Ask again and listen: torch says why it refuses a kernel in warnings only."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            call()
        except RuntimeError as again:
            error = again
    texts = [reason_of(str(item.message)) for item in heard]
    told = [text for text in texts if "not used because" not in text and "disabled" not in text]
    return told[0] if told else f"torch refuses: {reason_of(str(error).partition('. ')[0])}"


@backend
class Sdpa(Backend):
    """Let torch choose the kernel; the record says which one ran."""

    name = family = "sdpa"
    dense = chooses_kernel = True
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
        if MASKS[case.mask].biased:
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
        plain = case.heads == case.heads_kv and not case.empty_rows()
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
