"""Which kernel ran: from the operator and kernel names of a trace to one short name.

A backend is recorded by what was seen, never by what it was asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

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
