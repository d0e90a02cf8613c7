"""Check: what one backend must pass before it is timed: prepare, agree, be weighed."""

from __future__ import annotations

from typing import Any

import torch

from harness.attention.backend import Backend, Call, Unsupported
from harness.attention.work import WORKS, Judge
from harness.measure.clock import timed_call
from harness.measure.device import Device
from harness.measure.kernels import kernel_of, matches
from harness.measure.memory import peak
from harness.measure.outcome import Failure
from harness.measure.refusal import refuse, wanted_bytes
from harness.pool.orders import Visit
from harness.record import Status

Fields = dict[str, Any]


class Checker:
    """Hold what the backends of one visit share: inputs and, in the first replica, the oracle."""

    def __init__(self, visit: Visit, device: Device, *, limit: int | None) -> None:
        """Make the inputs; MemoryError if they do not fit, ValueError if the oracle is no use."""
        case = visit.case
        self.visit, self.device, self.limit = visit, device, limit
        if case.phase != "forward":
            raise Unsupported(f"phase {case.phase} is not measured by this version")
        refuse(case.input_bytes() + case.output_bytes(), device=case.device, limit=limit)
        self.work = WORKS[case.work]
        self.inputs = self.work.make_inputs(case, seed=visit.seed)
        self.oracle: Judge | None = None

    def prepare(self, backend: Backend, fields: Fields) -> Call:
        """Return the backend's call after its first use, which is timed apart."""
        case = self.visit.case
        reason = backend.unsupported(case)
        if reason:
            raise Unsupported(reason)
        refuse(wanted_bytes(backend, case), device=case.device, limit=self.limit)
        inputs = self.inputs.fresh()
        call = backend.prepare(case, inputs)
        output, fields["first_call_s"] = timed_call(call, self.device.synchronize)
        fields |= {"mask_bytes": inputs.mask_bytes, "threads": torch.get_num_threads()}
        if self.visit.replica == 0:
            self.agree(output, fields)
        return call

    def agree(self, output: object, fields: Fields) -> None:
        """Compare an output with the oracle, which is computed once, for the first that asks."""
        if self.oracle is None:
            self.oracle = self.work.make_oracle(self.inputs)
        if not isinstance(output, torch.Tensor):
            raise TypeError(f"the output is a {type(output).__name__}, not a tensor")
        found = self.oracle.check(output)
        names = ("agrees", "error_max", "error_rel", "tolerance", "error_ratio")
        fields |= {name: getattr(found, name) for name in names} | {"disagreement": found.reason}

    def weigh(self, backend: Backend, call: Call, fields: Fields) -> Failure | None:
        """Read the peak memory and the kernel of one call; fail a pinned backend that strayed."""
        seen = peak(call, self.device)
        kernel = kernel_of(seen.operators)
        fields |= {
            "kernel": kernel,
            "peak_bytes": seen.peak_bytes,
            "reserved_bytes": seen.reserved_bytes,
        }
        pinned = backend.pinned_kernel
        if pinned is not None and not matches(pinned, seen.operators, kernel=kernel):
            return Failure(Status.ERROR, f"pinned to {pinned}, but {kernel} ran")
        return None
