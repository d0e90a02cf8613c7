"""Invariants: what must hold of any attention output, told without an oracle."""

from __future__ import annotations

from dataclasses import replace

import torch

from harness.attention.backend import Backend
from harness.attention.inputs import Inputs, keep_mask, make_inputs
from harness.cases.case import Case

# Two runs of one kernel on numbers that should not matter: rounding steps of max|value| allowed.
STEPS = 32
LOUD = 50.0  # what hidden keys and values are replaced with, times the normal draw


def run(backend: Backend, inputs: Inputs) -> torch.Tensor:
    """Prepare and call once, without gradients; Unsupported and Unavailable come through."""
    with torch.no_grad():
        return backend.prepare(inputs.case, inputs.fresh())()


def future_keys(backend: Backend, case: Case) -> str | None:
    """Say how keys and values of the second half changed rows that may not see them."""
    half = case.length_key // 2
    past = [row for row, (_, stop) in enumerate(case.widest_spans()) if stop <= half]
    inputs = make_inputs(case)
    hidden = torch.arange(case.length_key) >= half
    before, after = (
        run(backend, inputs),
        run(backend, _shout(inputs, hidden.expand(case.batch, -1))),
    )
    return _differs(before[:, :, past], after[:, :, past], inputs, what="future keys")


def masked_keys(backend: Backend, case: Case) -> str | None:
    """Say how keys that no row may see changed the output."""
    inputs = make_inputs(case)
    hidden = ~keep_mask(case).any(2)[:, 0].expand(case.batch, -1)
    before, after = run(backend, inputs), run(backend, _shout(inputs, hidden))
    return _differs(before, after, inputs, what="masked keys")


def key_order(backend: Backend, case: Case) -> str | None:
    """Say how permuting keys together with values changed the output (mask full only)."""
    if case.mask != "full":
        raise ValueError(f"keys have no order under mask full alone, not {case.mask}")
    inputs = make_inputs(case)
    order = torch.randperm(case.length_key, generator=torch.Generator().manual_seed(1))
    order = order.to(inputs.key.device)
    moved = replace(inputs, key=inputs.key[:, :, order], value=inputs.value[:, :, order])
    return _differs(run(backend, inputs), run(backend, moved), inputs, what="the order of keys")


def shifted_scores(backend: Backend, case: Case) -> str | None:
    """Say how adding one vector to every key changed the output.

    It adds q·s to every score of a row, which softmax does not see. Keys and shift are multiples
    of 1/8, so that the sum is exact in every dtype.
    """
    inputs = make_inputs(case)
    coarse = replace(inputs, key=(inputs.key * 8).round() / 8)
    shift = ((torch.arange(case.dim_key, device=inputs.key.device) % 5) - 2) / 8
    moved = replace(coarse, key=coarse.key + shift.to(inputs.key.dtype))
    return _differs(run(backend, coarse), run(backend, moved), inputs, what="shifted scores")


def within_values(backend: Backend, case: Case) -> str | None:
    """Say how far an output lies outside the least and greatest value (or 0 for empty rows)."""
    inputs = make_inputs(case)
    output = run(backend, inputs).double()
    value = inputs.value.double().repeat_interleave(case.heads // case.heads_kv, dim=1)
    above = output - value.amax(2, keepdim=True).clamp(min=0)
    below = value.amin(2, keepdim=True).clamp(max=0) - output
    return _too_large(torch.maximum(above, below), inputs, what="outside min and max of values by")


def broken(backend: Backend, case: Case) -> list[str]:
    """Return what every invariant that applies to this case has to say; empty when all hold."""
    checks = [masked_keys, shifted_scores, within_values]
    checks += [key_order] if case.mask == "full" else []
    checks += [future_keys] if case.mask not in ("full", "padding") else []
    return [reason for check in checks if (reason := check(backend, case)) is not None]


def _shout(inputs: Inputs, hidden: torch.Tensor) -> Inputs:
    """Replace hidden keys and values, [B, Tk], by loud finite numbers (0 times NaN is NaN)."""
    place = hidden[:, None, :, None].to(inputs.key.device)
    key = torch.where(place, inputs.key * -LOUD, inputs.key)
    return replace(inputs, key=key, value=torch.where(place, LOUD + inputs.value, inputs.value))


def _differs(
    before: torch.Tensor, after: torch.Tensor, inputs: Inputs, *, what: str
) -> str | None:
    difference = (before.double() - after.double()).abs()
    return _too_large(difference, inputs, what=f"{what} changed the output by")


def _too_large(difference: torch.Tensor, inputs: Inputs, *, what: str) -> str | None:
    if not difference.numel():
        return None
    largest = difference.max().item()
    steps = STEPS * torch.finfo(inputs.value.dtype).eps
    limit = steps * inputs.value.abs().max().item()
    return None if largest <= limit else f"{what} {largest:.2g}, allowed {limit:.2g}"
