"""Memory: the peak of one call, and the kernels that it ran."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import torch

from harness.measure.device import AcceleratorDevice, Allocation, Device, trace
from harness.measure.rounds import no_garbage_collection

# From the most to the least telling; the first pattern that any name matches wins. Kernels of a
# chip come before operators of the dispatcher, fused operators before composed ones.
FUSED = tuple(
    re.compile(pattern)
    for pattern in (
        r"cudnn_generated\w*(sdpa|flash|fprop|bprop)\w*",
        r"cudnn_generated\w*",
        r"fmha_(cutlass[FB]|cutlass)\w*",
        r"(\w+::)*(flash_(fwd|bwd)\w*kernel\w*|FlashAttn(Fwd|Bwd)\w*)",
        r"\w*FlashAttention(Forward|Backward)\w*",
        r"triton_\w*(flex|attention|tem_fused)\w*",
        r"\w*_attn_(fwd|bwd)\w*",
        r"(xformers|flash_attn)\w*::\w+",
        r"cpp_\w*flex\w*",
        r"_scaled_dot_product_(flash|efficient|cudnn|fused)\w*",
        r"_(flash|efficient|cudnn)_attention\w*",
        r"_scaled_dot_product_attention_math\w*",
        r"flex_attention\w*",
        r"triton_\w+",
        r"CompiledFxGraph",
    )
)
# Plain tensor code has no kernel of its own: say how the weights were made and multiplied.
WEIGHTS = (("softmax", r"^aten::_?softmax$"), ("exp", r"^aten::exp2?_?$"))
PRODUCTS = r"^aten::(matmul|bmm|mm|baddbmm|addmm|einsum|mv|dot)$"
# Demangled C++ names carry a return type, template arguments and parameters.
DECORATION = re.compile(r"[<(].*$", re.DOTALL)


def kernel_of(names: Iterable[str]) -> str | None:
    """Return the most telling attention kernel among operator and kernel names, or None.

    Plain tensor code gives `aten::softmax+matmul` or `aten::exp+matmul`. Of a forward and its
    backward the one seen first wins. Template arguments are cut off.
    """
    seen = list(names)
    for pattern in FUSED:
        for name in seen:
            found = pattern.search(name)
            if found:
                return short_name(name, found[0])
    return _plain(seen)


def short_name(name: str, matched: str) -> str:
    """Return the bare name without return type, parameters and template arguments.

    Where the match lies inside the template arguments, as in CUTLASS's `device_kernel<...>`, it
    is the name.
    """
    bare = DECORATION.sub("", name.removeprefix("void ")).split()
    return bare[-1].removeprefix("aten::") if bare and matched in bare[-1] else matched


def matches(pattern: str, names: Iterable[str], *, kernel: str | None = None) -> bool:
    """Whether a backend's pinned pattern is found in the recorded kernel or in any name."""
    return any(re.search(pattern, name) for name in (*([kernel] if kernel else ()), *names))


def _plain(seen: list[str]) -> str | None:
    for label, weights in WEIGHTS:
        if any(re.search(weights, name) for name in seen):
            product = any(re.search(PRODUCTS, name) for name in seen)
            return f"aten::{label}+matmul" if product else f"aten::{label}"
    return None


@dataclass(frozen=True)
class Peak:
    """Bytes that a call took, and what it ran.

    `peak_bytes` is the most alive at once above the resident inputs, the output included.
    `held_bytes` is alive after the call while its output is: of a forward call with gradients,
    output and saved tensors. `reserved_bytes` is the peak the CUDA allocator took from the chip
    for the whole process; None on the host.
    """

    peak_bytes: int
    held_bytes: int
    output_bytes: int
    reserved_bytes: int | None
    operators: tuple[str, ...]


def peak(call: Callable[[], object], device: Device) -> Peak:
    """Return the peak of one call. Make one call before, or library workspaces are charged to it.

    On CUDA the call runs twice: once for the peak, once for the kernels' names. Raises what the
    call raises; RSS and tracemalloc see none of this.
    """
    with no_garbage_collection():
        if device.asynchronous:
            return _cuda_peak(call, device)  # type: ignore[arg-type]
        return _host_peak(call)


def replay(allocations: Iterable[Allocation]) -> tuple[int, int]:
    """Return (most alive at once, alive at the end) in bytes, from allocator events in time order.

    A block that was taken before the events began is resident, so giving it back counts as nothing
    instead of lowering the peak of what the call took.
    """
    alive: dict[tuple[str, int], int] = {}
    held = most = 0
    for event in allocations:
        if event.size >= 0:
            alive[event.address] = event.size
            held += event.size
        else:
            held -= alive.pop(event.address, 0)
        most = max(most, held)
    return most, held


def tensor_bytes(value: object) -> int:
    """Add up the bytes of the elements of a tensor, or of all tensors in a nest of containers."""
    if isinstance(value, torch.Tensor):
        return value.numel() * value.element_size()
    if isinstance(value, Mapping):
        value = list(value.values())
    return sum(map(tensor_bytes, value)) if isinstance(value, (tuple, list)) else 0


def _host_peak(call: Callable[[], object]) -> Peak:
    seen = trace(call)
    most, held = replay(seen.allocations)
    return Peak(most, held, tensor_bytes(seen.result), None, seen.operators)


def _cuda_peak(call: Callable[[], object], device: AcceleratorDevice) -> Peak:
    device.synchronize()
    before = device.memory_allocated()
    device.reset_peak()
    result = call()
    device.synchronize()
    held, output = device.memory_allocated() - before, tensor_bytes(result)
    most, reserved = device.max_memory_allocated() - before, device.max_memory_reserved()
    del result
    return Peak(most, held, output, reserved, device.operators(call))
