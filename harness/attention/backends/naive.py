"""Naive and rowwise: the formula as it stands: all rows at once, and one row at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.attention.backend import Backend, Call, backend
from harness.cases.masks import MASKS, alibi_slopes

if TYPE_CHECKING:
    import torch

    from harness.attention.inputs import Inputs
    from harness.cases.case import Case


@backend
class Naive(Backend):
    """Materialise softmax(query keyᵀ / sqrt(dim_key) + mask) and multiply by value.

    Two score matrices are alive at the peak: the scores and their softmax. The scale goes onto
    the query, so that float16 scores do not overflow before it. Its own rule for a row without
    a key is NaN (softmax of -inf alone), so a case with such rows is refused.
    """

    name = "naive"
    dense = True
    score_matrices = 2.0
    score_matrices_training = 3.0
    takes_mask = True

    def unsupported(self, case: Case) -> str | None:
        """Refuse cases with empty rows."""
        rows = case.empty_rows()
        return f"{rows} rows see no key: softmax of -inf alone is NaN" if rows else None

    def prepare(self, case: Case, inputs: Inputs) -> Call:
        """Stack the query heads that share a key head as rows: views, no copies of keys."""
        shape = (case.batch, case.heads, case.length_query, case.dim_value)
        groups = (case.batch, case.heads_kv, -1, case.length_query, case.length_key)
        query = inputs.query.reshape(case.batch, case.heads_kv, -1, case.dim_key)
        key, value, scale = inputs.key, inputs.value, inputs.scale
        alibi = MASKS[case.mask].biased
        bias, drop = inputs.bias() if alibi else None, None if alibi else _drop(inputs)
        if bias is not None:
            bias = bias.view(bias.shape[0], *groups[1:])

        def call() -> torch.Tensor:
            scores = (query * scale) @ key.mT
            if bias is not None:
                scores.view(groups).add_(bias)
            if drop is not None:
                scores.view(groups).masked_fill_(drop, float("-inf"))
            scores = scores.softmax(-1)
            return (scores @ value).view(shape)

        return call


def _drop(inputs: Inputs) -> torch.Tensor | None:
    """Return True where a key is hidden: [B or 1, 1, 1, Tq, Tk]."""
    keep = inputs.keep()
    return None if keep is None else keep.logical_not_().unsqueeze(2)


@backend
class Rowwise(Backend):
    """Take T steps; step i looks at the keys that query i may see and at no other.

    Never holds a T×T matrix: the peak is the rows and their stack, 2048 T bytes for four heads of
    64 in float32. Its rule for a row without a key is 0 (an empty sum). Under autograd the weights
    of all rows are kept, T×T numbers in all.
    """

    name = "rowwise"
    skips_hidden = True
    score_matrices_training = 1.0

    def unsupported(self, case: Case) -> str | None:
        """Refuse backward in half precision: at T=257 its error is beyond 3x the formula's."""
        if case.phase != "forward" and case.itemsize < 4:
            return f"autograd would add up the gradients of all rows in {case.dtype}: too coarse"
        return None

    def prepare(self, case: Case, inputs: Inputs) -> Call:
        """Cut the query into rows [B, Hkv, G, Dk] and find the keys of each."""
        import torch

        shape = (case.batch, case.heads, case.length_query, case.dim_value)
        query = inputs.query.view(case.batch, case.heads_kv, -1, case.length_query, case.dim_key)
        key, value, scale = inputs.key, inputs.value, inputs.scale
        steps = list(enumerate(case.widest_spans()))
        drop, ramp, last = _dropped_keys(inputs), _ramp(inputs), case.length_query - 1

        def step(row: int, start: int, stop: int) -> torch.Tensor:
            scores = (query[:, :, :, row] * scale) @ key[:, :, start:stop].mT
            if ramp is not None:
                scores += ramp[:, :, :, last - row + start : last - row + stop]
            if drop is not None:
                scores.masked_fill_(drop[:, :, :, start:stop], float("-inf"))
            return scores.softmax(-1) @ value[:, :, start:stop]

        def call() -> torch.Tensor:
            rows = [step(row, start, stop) for row, (start, stop) in steps]
            return torch.stack(rows, dim=3).view(shape)

        return call


def _dropped_keys(inputs: Inputs) -> torch.Tensor | None:
    """Return True for the padding of each batch entry [B, 1, 1, Tk], or None without padding."""
    import torch

    case, device = inputs.case, inputs.key.device
    if not MASKS[case.mask].ragged:
        return None
    kept = torch.tensor(case.kept_keys(), device=device)
    drop = torch.arange(case.length_key, device=device) >= kept[:, None, None, None]
    inputs.mask_bytes += drop.numel()
    return drop


def _ramp(inputs: Inputs) -> torch.Tensor | None:
    """Return ALiBi's bias [1, Hkv, G, Tq] over the distances -(Tq - 1) to 0, or None.

    A row's bias is a slice of it: relative, so that no large position rounds a small distance.
    """
    import torch

    case, device = inputs.case, inputs.key.device
    if not MASKS[case.mask].biased:
        return None
    distances = torch.arange(1 - case.length_query, 1, device=device)
    slopes = torch.tensor(alibi_slopes(case.heads), device=device).view(1, case.heads_kv, -1, 1)
    ramp = (slopes * distances).to(inputs.query.dtype)
    inputs.mask_bytes += ramp.numel() * ramp.element_size()
    return ramp
