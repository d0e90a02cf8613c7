"""Inputs: the tensors of a case, seeded, with the mask laid out."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import torch

from harness.cases.case import Case
from harness.cases.masks import MASKS, alibi_slopes


def keep_mask(
    case: Case, *, rows: torch.Tensor | None = None, device: torch.device | str = "cpu"
) -> torch.Tensor:
    """Return True where a query may look at a key: [B or 1, 1, rows, Tk].

    `rows` are query positions (default: all), so that a reference can ask for a few rows and
    never build the whole matrix. The batch axis is longer than 1 only under padding.
    """
    if rows is None:
        rows = torch.arange(case.length_query, device=device)
    mask = MASKS[case.mask]
    own = rows.to(device)[:, None] + mask.own_end(case.length_query, case.length_key)
    key = torch.arange(case.length_key, device=device)[None, :]
    keep = torch.ones(len(rows), case.length_key, dtype=torch.bool, device=device)
    if mask.causal is not None:
        keep &= key < own
    if case.window is not None:
        keep &= key >= own - case.window
    if mask.ragged:
        kept = torch.tensor(case.kept_keys(), device=device)
        return keep[None, None] & (key < kept[:, None, None])[:, None]
    return keep[None, None]


def linear_bias(
    case: Case, *, rows: torch.Tensor, columns: slice, dtype: torch.dtype
) -> torch.Tensor:
    """Return ALiBi's bias [1, H, rows, columns]: slope times (key - query position).

    It is 0 at the query's own position and falls to the left; the causal mask is not in it.
    Added to the scores after the scale (Press et al. 2022, arXiv 2108.12409).
    """
    wide = torch.promote_types(dtype, torch.float32)  # bfloat16 has no 257
    slopes = torch.tensor(alibi_slopes(case.heads), dtype=wide, device=rows.device)
    keys = torch.arange(columns.start, columns.stop, device=rows.device)
    distance = (keys - rows[:, None]).to(wide)
    return (slopes[:, None, None] * distance)[None].to(dtype)


@dataclass
class Inputs:
    """Hold query [B, H, Tq, Dk], key [B, Hkv, Tk, Dk] and value [B, Hkv, Tk, Dv].

    `keep()` and `bias()` build an explicit mask and add its bytes to `mask_bytes`, so that a
    backend which needs one is charged for it. Take a `fresh()` copy for each backend.
    """

    case: Case
    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    mask_bytes: int = field(default=0)
    # A mask of one's own, boolean [B or 1, 1, Tq, Tk], True keeps; takes the place of the case's.
    explicit: torch.Tensor | None = None
    # A factor of the scores in place of 1 / sqrt(dim_key).
    factor: float | None = None

    def fresh(self) -> Inputs:
        """Return a copy that shares the tensors and counts its own mask bytes."""
        return replace(self, mask_bytes=0)

    @property
    def scale(self) -> float:
        """1 / sqrt(dim_key), the factor of the scores before the mask, unless it is given."""
        return 1.0 / math.sqrt(self.case.dim_key) if self.factor is None else self.factor

    def keep(self) -> torch.Tensor | None:
        """Return a boolean mask [B or 1, 1, Tq, Tk], True where a query may look; None if full."""
        if self.explicit is not None:
            mask = self.explicit.clone()
        elif self.case.mask == "full":
            return None
        else:
            mask = keep_mask(self.case, device=self.query.device)
        self.mask_bytes += mask.numel() * mask.element_size()
        return mask

    def bias(self) -> torch.Tensor | None:
        """Return an additive mask in the inputs' dtype: 0 where kept, -inf where not.

        Under `alibi` it is [B or 1, H, Tq, Tk] and holds the bias where kept.
        """
        keep = self.keep()
        if keep is None:
            return None
        kept = torch.zeros((), dtype=self.query.dtype, device=keep.device)
        if MASKS[self.case.mask].biased:
            rows = torch.arange(self.case.length_query, device=keep.device)
            columns = slice(0, self.case.length_key)
            kept = linear_bias(self.case, rows=rows, columns=columns, dtype=kept.dtype)
        bias = torch.where(keep, kept, float("-inf"))
        self.mask_bytes += bias.numel() * bias.element_size() - keep.numel()
        return bias


def make_inputs(case: Case, *, seed: int = 0) -> Inputs:
    """Draw standard normal query, key and value for a case from one seed.

    Drawn in float32 on the CPU and then cast and moved, so that every device and every dtype
    sees the same numbers. Never zeros: zeros agree with everything.
    """
    generator = torch.Generator().manual_seed(seed)

    def draw(heads: int, length: int, dim: int) -> torch.Tensor:
        tensor = torch.randn(case.batch, heads, length, dim, generator=generator)
        return tensor.to(device=case.device, dtype=getattr(torch, case.dtype))

    return Inputs(
        case=case,
        query=draw(case.heads, case.length_query, case.dim_key),
        key=draw(case.heads_kv, case.length_key, case.dim_key),
        value=draw(case.heads_kv, case.length_key, case.dim_value),
    )
