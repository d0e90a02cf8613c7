"""Hidden: seeded hidden states and weights of a layer, and the right outputs of its parts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import torch

from harness.attention.answer import Answer
from harness.attention.inputs import Inputs
from harness.attention.masks import keep_mask
from harness.attention.reference import Formula, by_rows, checked_rows, exact, plain
from harness.case import Case

# A layer's matrices, each [width out, width in] as torch.nn.functional.linear takes them.
PRODUCTS = ("query", "key", "value", "output")


@dataclass
class Hidden:
    """Hold states [batch, length, width] and named weights; take a `fresh()` one per backend."""

    case: Case
    states: torch.Tensor
    weights: Mapping[str, torch.Tensor]
    mask_bytes: int = field(default=0)

    def fresh(self) -> Hidden:
        """Return a copy that shares the tensors and counts its own mask bytes."""
        return replace(self, mask_bytes=0)

    def keep(self) -> torch.Tensor:
        """Return a boolean mask [B or 1, 1, T, T], True where a query may look."""
        mask = keep_mask(self.case, device=self.states.device)
        self.mask_bytes += mask.numel()
        return mask


def draw_weight(case: Case, *shape: int, generator: torch.Generator) -> torch.Tensor:
    """Draw a matrix [out, in] that keeps the variance of what it is multiplied with.

    Drawn in float32 on the CPU, then cast and moved: the same numbers for every device.
    """
    weight = torch.randn(*shape, generator=generator) / math.sqrt(shape[-1])
    return weight.to(device=case.device, dtype=getattr(torch, case.dtype))


def make_hidden(case: Case, *, seed: int = 0) -> Hidden:
    """Draw standard normal states and the four matrices of a layer from one seed."""
    generator = torch.Generator().manual_seed(seed)
    states = torch.randn(case.batch, case.length_query, case.width, generator=generator)
    return Hidden(
        case=case,
        states=states.to(device=case.device, dtype=getattr(torch, case.dtype)),
        weights={
            name: draw_weight(case, case.width, case.width, generator=generator)
            for name in PRODUCTS
        },
    )


def layer_answer(hidden: Hidden) -> Answer:
    """Return the right output of the whole layer; above 4096 positions that of a subset."""
    rows = checked_rows(hidden.case.length_query)
    return Answer(
        layer_output(hidden, exact, dtype=torch.float64, rows=rows),
        layer_output(hidden, plain, dtype=hidden.states.dtype, rows=rows),
        length=hidden.case.length_query,
        rows=rows,
    )


def layer_output(
    hidden: Hidden, formula: Formula, *, dtype: torch.dtype, rows: torch.Tensor
) -> torch.Tensor:
    """Compute concat(heads) Wᴼ with head_h = softmax(X W_h^Q (X W_h^K)ᵀ / √d) X W_h^V.

    Returns [batch, rows, width] (Vaswani et al. 2017, 3.2.2).
    """
    query, key, value = (split_heads(each, hidden.case) for each in products(hidden, dtype)[:3])
    inputs = Inputs(case=hidden.case, query=query, key=key, value=value)
    heads = by_rows(inputs, formula, rows=rows, dtype=dtype)
    return heads.transpose(1, 2).flatten(2) @ hidden.weights["output"].to(dtype).mT


def products(hidden: Hidden, dtype: torch.dtype) -> list[torch.Tensor]:
    """Return X W^Q, X W^K, X W^V and (X W^V) Wᴼ: the four products without the attention."""
    states, weights = hidden.states.detach().to(dtype), hidden.weights
    found = [states @ weights[name].to(dtype).mT for name in PRODUCTS[:3]]
    return [*found, found[2] @ weights["output"].to(dtype).mT]


def split_heads(states: torch.Tensor, case: Case) -> torch.Tensor:
    """Turn [batch, length, width] into a view [batch, heads, length, dim]."""
    return states.view(*states.shape[:-1], case.heads, case.dim_key).transpose(1, 2)


def projections_answer(hidden: Hidden) -> Answer:
    """Return the right products, one after another: [4 batch, length, width]."""
    dtypes = (torch.float64, hidden.states.dtype)
    return Answer(*(torch.cat(products(hidden, dtype)) for dtype in dtypes))
