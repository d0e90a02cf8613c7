"""Subject: a backend on a device in one dtype, with what checks ask of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from harness.attention.agreement import check
from harness.attention.backend import Backend, Unsupported
from harness.attention.gradients import check_gradients
from harness.attention.inputs import Inputs, make_inputs
from harness.cases.case import Case
from harness.records.record import Seen

SMALL: dict[str, Any] = {"heads": 2, "dim_key": 16, "dim_value": 16}
STEPS = 32  # rounding steps of the largest right value that a computed one may be off
SHOWN = 6


class Subject:
    """Ask one backend. Every question raises Unsupported where the backend says no."""

    def __init__(self, backend: Backend | None, *, device: str, dtype: str) -> None:
        self._backend, self.device, self.dtype = backend, device, dtype

    @property
    def backend(self) -> Backend:
        """The backend asked; a behaviour that is `alone` has none."""
        assert self._backend is not None
        return self._backend

    @property
    def torch_dtype(self) -> torch.dtype:
        """The dtype as torch knows it."""
        return getattr(torch, self.dtype)  # type: ignore[no-any-return]

    def tensor(self, values: Any) -> torch.Tensor:
        """Make a tensor of numbers in the subject's dtype on its device."""
        return torch.tensor(values, dtype=self.torch_dtype, device=self.device)

    def draw(self, *shape: int, seed: int = 0) -> torch.Tensor:
        """Draw a standard normal tensor from one seed, the same on every device."""
        drawn = torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
        return drawn.to(device=self.device, dtype=self.torch_dtype)

    def inputs(
        self,
        rows: int,
        keys: int | None = None,
        *,
        keep: Sequence[Sequence[bool | int]] | None = None,
        factor: float | None = None,
        **fields: Any,
    ) -> Inputs:
        """Make small inputs, two heads of 16; `keep` [rows, keys] is a mask of one's own."""
        fields = SMALL | fields
        fields.setdefault("heads_kv", fields["heads"])
        case = Case(
            device=self.device,
            dtype=self.dtype,
            length_query=rows,
            length_key=rows if keys is None else keys,
            **fields,
        )
        mask = None
        if keep is not None:
            mask = torch.tensor(keep, device=self.device).bool()[None, None]
        return replace(make_inputs(case), explicit=mask, factor=factor)

    def output(self, inputs: Inputs) -> torch.Tensor:
        """Prepare and call once, without gradients."""
        self._require(inputs)
        with torch.no_grad():
            return self.backend.prepare(inputs.case, inputs.fresh())()

    def gradients(self, inputs: Inputs, grad_output: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return dQ, dK and dV for the gradient of the output [B, H, Tq, Dv]."""
        case = inputs.case.with_(phase="forward_backward")
        inputs = replace(inputs, case=case)
        self._require(inputs)
        leaves = [t.detach().requires_grad_() for t in (inputs.query, inputs.key, inputs.value)]
        query, key, value = leaves
        asked = replace(inputs, query=query, key=key, value=value, mask_bytes=0)
        with torch.enable_grad():
            output = self.backend.prepare(case, asked)()
            return torch.autograd.grad(output, leaves, grad_output)

    def _require(self, inputs: Inputs) -> None:
        reason = self.backend.refusal(inputs.case)
        if reason is None and inputs.explicit is not None and not self.backend.takes_mask:
            reason = "it takes the masks of a case only, no mask of one's own"
        if reason is not None:
            raise Unsupported(reason)

    def agrees(self, inputs: Inputs) -> Seen:
        """Compare the output with the float64 oracle."""
        output = self.output(inputs)
        found = check(output, inputs)
        observed = _not_finite(output) or found.reason or _error(found.error_rel)
        return Seen("as the oracle", observed, found.agrees)

    def gradients_agree(self, inputs: Inputs, grad_output: torch.Tensor) -> Seen:
        """Compare the gradients with the closed formula in float64."""
        query, key, value = self.gradients(inputs, grad_output)
        found = check_gradients((query, key, value), inputs, grad_output=grad_output)
        return Seen("as the oracle", found.reason or _error(found.error_rel), found.agrees)


def same(observed: torch.Tensor, expected: torch.Tensor) -> bool:
    """Whether values match up to rounding, NaN and infinity in the same places."""
    if observed.shape != expected.shape:
        return False
    step = torch.finfo(observed.dtype).eps
    right = expected.double()
    largest = right[right.isfinite()].abs().max().item() if right.isfinite().any() else 0.0
    limit = STEPS * step * max(1.0, largest)
    return torch.allclose(observed.double(), right, rtol=0.0, atol=limit, equal_nan=True)


def compare(observed: torch.Tensor, expected: torch.Tensor) -> Seen:
    """Compare values and write both down."""
    return Seen(show(expected), show(observed), same(observed, expected))


def show(values: torch.Tensor) -> str:
    """Write the first values of a tensor, or its shape if it has none."""
    if not values.numel():
        return f"empty {list(values.shape)}"
    flat = values.detach().flatten().tolist()
    rest = ", ..." if len(flat) > SHOWN else ""
    return f"[{', '.join(_number(value) for value in flat[:SHOWN])}{rest}]"


def _not_finite(output: torch.Tensor) -> str | None:
    """Name the rows of [B, H, T, D] with NaN or infinity, or None."""
    if output.ndim != 4 or output.isfinite().all():
        return None
    bad = (~output.isfinite()).any(-1).any(0).any(0).nonzero().flatten().tolist()
    return f"NaN or infinity in {len(bad)} of {output.shape[2]} rows, row {bad[0]} first"


def _number(value: float) -> str:
    return "NaN" if value != value else f"{value:.4g}"


def _error(relative: float | None) -> str:
    return "exactly" if not relative else f"off by {relative:.1e}"
