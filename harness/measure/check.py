"""Check: what one backend must pass before it is timed and after: agree, be weighed, harm none."""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from time import perf_counter
from typing import Any

import torch

from harness.attention.agreement import Oracle
from harness.attention.backend import Backend, Unsupported
from harness.attention.backend import Call as Forward
from harness.attention.reference import checked_rows
from harness.attention.works import WORKS, GradientJudge, Judge
from harness.measure.clock import timed_call
from harness.measure.device import Device
from harness.measure.guard import Guard, inspect_growth
from harness.measure.host_memory import refuse, wanted_bytes
from harness.measure.memory import Peak, kernel_of, matches, peak
from harness.measure.outcome import Failure
from harness.measure.phases import Gradients, Passes
from harness.measure.protocol import Visit
from harness.records.record import Status

Fields = dict[str, Any]
LATER = "right at first, but after the timing"


class SecondsByPurpose:
    """Add up seconds by purpose; what runs inside another purpose is taken from that one."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._inner = [0.0]

    @contextmanager
    def on(self, purpose: str) -> Iterator[None]:
        """Count the seconds inside towards a purpose."""
        begin = perf_counter()
        self._inner.append(0.0)
        try:
            yield
        finally:
            whole = perf_counter() - begin
            self.seconds[purpose] += whole - self._inner.pop()
            self._inner[-1] += whole


class Checker:
    """Hold what the backends of one visit share: inputs and, in the first replica, the oracles."""

    def __init__(self, visit: Visit, device: Device, *, limit: int | None) -> None:
        """Make the inputs; MemoryError if they do not fit, ValueError if the oracle is no use."""
        case = visit.case
        self.visit, self.device, self.limit = visit, device, limit
        self.spent = SecondsByPurpose()
        self.work = WORKS[case.work]
        trains = case.phase != "forward"
        if trains and self.work.training is None:
            raise Unsupported(f"phase {case.phase} of {case.work} is not measured by this version")
        refuse(case.input_bytes() + case.output_bytes(), device=case.device, limit=limit)
        with self.spent.on("inputs"):
            self.inputs = self.work.make_inputs(case, seed=visit.seed)
        self.leaves: tuple[torch.Tensor, ...] = ()
        if trains and self.work.training is not None:
            self.leaves = self.work.training.leaves(self.inputs)
        for leaf in self.leaves:
            leaf.requires_grad_()
        self.guard = Guard(self.inputs)
        self.oracle: Judge | None = None
        self.late_oracle: Judge | None = None
        self.gradient_oracle: GradientJudge | None = None

    def prepare(self, backend: Backend, fields: Fields) -> Passes:
        """Return the backend's passes after their first use, which is timed apart.

        In the first replica the output is compared first; a backward is run only if it agrees,
        and its gradients are compared then.
        """
        case = self.visit.case
        reason = backend.refusal(case)
        if reason:
            raise Unsupported(reason)
        refuse(wanted_bytes(backend, case), device=case.device, limit=self.limit)
        inputs = self.inputs.fresh()
        forward = self.make_call(backend, inputs)
        passes = Passes(forward, phase=case.phase, leaves=self.leaves, seed=self.visit.seed)
        output, fields["first_call_s"] = timed_call(forward, self.device.synchronize)
        fields |= {"mask_bytes": inputs.mask_bytes, "threads": torch.get_num_threads()}
        if not isinstance(output, torch.Tensor):
            raise TypeError(f"the output is a {type(output).__name__}, not a tensor")
        # Before the oracle is computed: it must not see inputs that the call has changed.
        self.guard.inspect(may_start_threads=backend.compiled)
        if self.visit.replica == 0:
            self.check_output(output, fields)
        if passes.trains and fields.get("agrees") is not False:
            self.run_backward(passes, output, fields)
        return passes

    def make_call(self, backend: Backend, inputs: Any) -> Forward:
        """Let the backend prepare; weights that it draws meanwhile are its own business."""
        forward = backend.prepare(self.visit.case, inputs)
        self.guard.allow_drawing()
        return forward

    def check_output(self, output: torch.Tensor, fields: Fields) -> None:
        """Compare an output with the oracle, which is computed once, for the first that asks."""
        if self.oracle is None:
            with self.spent.on("oracle"):
                self.oracle = self.work.make_oracle(self.inputs)
        with self.spent.on("comparison"):
            keep_agreement(self.oracle.check(output), fields)

    def run_backward(self, passes: Passes, output: torch.Tensor, fields: Fields) -> None:
        """Run the first backward and, in the first replica, compare the gradients.

        The errors kept are then those of the gradients.
        """
        grad_output = passes.draw_grad_output(output)
        gradients, seconds = timed_call(lambda: passes.gradients(output), self.device.synchronize)
        fields["first_call_s"] += seconds
        if self.visit.replica == 0:
            self.check_gradients(gradients, grad_output, fields)  # type: ignore[arg-type]

    def check_gradients(
        self, gradients: Gradients, grad_output: torch.Tensor, fields: Fields
    ) -> None:
        """Compare gradients with those of the oracle, which are computed once."""
        if self.gradient_oracle is None:
            assert self.work.training is not None
            with self.spent.on("oracle"):
                self.gradient_oracle = self.work.training.make_oracle(self.inputs, grad_output)
        keep_agreement(self.gradient_oracle.check(gradients), fields)

    def read_memory_and_kernel(
        self, backend: Backend, passes: Passes, fields: Fields
    ) -> Failure | None:
        """Read the peak memory and the kernel of one call; fail a pinned backend that strayed.

        With a backward, the peak is that of forward and backward together, whichever is timed,
        and `held_bytes` is what lives between the two: the output and the saved tensors.
        """
        call = passes.whole if passes.trains else passes.forward
        seen = peak(call, self.device)
        if seen.held_bytes > seen.output_bytes and not passes.trains:
            inspect_growth(call, self.device)
        kernel = kernel_of(seen.operators)
        fields |= {
            "kernel": kernel,
            "peak_bytes": seen.peak_bytes,
            "reserved_bytes": seen.reserved_bytes,
        }
        if passes.trains:
            fields["held_bytes"] = peak(passes.forward, self.device).held_bytes
        return ran_another_kernel(backend, seen, kernel=kernel, trains=passes.trains)

    def ask_with_other_values(self, backend: Backend) -> Failure | None:
        """Ask with the other sign of the values: the output's sign must turn.

        A backend that keeps its first answer gives that again. It is asked until it has passed
        once in a run: each time costs a call. One that compiles each case is spared: it would
        compile once more.
        """
        if self.visit.case.work != "attention" or backend.compiled:
            return None
        if backend.name in self.visit.trusted:
            return None
        assert self.oracle is not None
        other = replace(self.inputs, value=-self.inputs.value, mask_bytes=0)
        found = self.oracle.check(-self.make_call(backend, other)())
        return failure_if_wrong(found, "asked again with other values")

    def check_after_timing(
        self, backend: Backend, passes: Passes, *, growing: bool
    ) -> Failure | None:
        """Check after the timing that the answer is still right and that nothing was harmed.

        Where only a part of the rows is checked, these are other rows than before, and nobody
        can know which.
        """
        output = passes.forward()
        self.guard.inspect(may_start_threads=backend.compiled)
        if growing:
            inspect_growth(passes.timed(), self.device)
        if self.visit.replica:
            return None
        failure = failure_if_wrong(self.oracle_of_other_rows().check(output), LATER)
        if failure is None and passes.trains:
            assert self.gradient_oracle is not None
            failure = failure_if_wrong(self.gradient_oracle.check(passes.whole()), LATER)
        return failure

    def oracle_of_other_rows(self) -> Judge:
        """Return the oracle of all rows, or one of other rows, made once."""
        length = self.visit.case.length_query
        some = isinstance(self.oracle, Oracle) and len(self.oracle.rows) < length
        if some and self.visit.case.work == "attention" and self.late_oracle is None:
            rows = checked_rows(length, seed=secrets.randbits(32))
            with self.spent.on("oracle"):
                self.late_oracle = Oracle(self.inputs, rows=rows)
        judge = self.late_oracle or self.oracle
        assert judge is not None
        return judge


def failure_if_wrong(found: Any, when: str) -> Failure | None:
    """Turn an answer that is wrong into a failure that says when it was."""
    return None if found.agrees else Failure(Status.DISAGREES, f"{when}: {found.reason}")


def keep_agreement(found: Any, fields: Fields) -> None:
    """Take over what an oracle said."""
    names = ("agrees", "error_max", "error_rel", "tolerance", "error_ratio")
    fields |= {name: getattr(found, name) for name in names} | {"disagreement": found.reason}


def ran_another_kernel(
    backend: Backend, seen: Peak, *, kernel: str | None, trains: bool
) -> Failure | None:
    """Say that a pinned backend ran another kernel, forward or backward, or None."""
    pinned = [backend.pinned_kernel] + [backend.pinned_backward] * trains
    for pattern in pinned:
        if pattern is not None and not matches(pattern, seen.operators, kernel=kernel):
            return Failure(Status.ERROR, f"pinned to {pattern}, but {kernel} ran")
    return None
