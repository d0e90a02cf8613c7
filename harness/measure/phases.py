"""Phases: from a backend's forward call to the call of a phase: forward, backward, or both."""

from __future__ import annotations

import torch

from harness.attention.backend import Call as Forward
from harness.attention.backend import Unsupported, closest_refusal
from harness.measure.clock import Call

Gradients = tuple[torch.Tensor | None, ...]
# Apart from the seeds of inputs: an output gradient equal to the query would hide a mix-up.
GRADIENT_SEED = 1_000_003


class Passes:
    """Hold one backend's forward call and what its backward starts from and ends in.

    Gradients are those of `leaves` and go through `torch.autograd.grad`, so that nothing is ever
    added to `.grad`. A backend whose own layout is another copies its inputs in `prepare`; in the
    backward such copies (`transpose`, `contiguous`) only pass the gradient on as a view, and the
    output gradient is laid out as the output is, so that no layout is converted inside the timed
    call. Keys packed without their padding are the exception: each backward fills them up again.
    """

    def __init__(
        self, forward: Forward, *, phase: str, leaves: tuple[torch.Tensor, ...], seed: int
    ) -> None:
        self.forward, self.phase, self.leaves, self.seed = forward, phase, leaves, seed
        self.grad_output: torch.Tensor | None = None

    @property
    def trains(self) -> bool:
        """Whether there is a backward to run."""
        return self.phase != "forward"

    def draw_grad_output(self, output: torch.Tensor) -> torch.Tensor:
        """Draw the gradient that backward starts from; Unsupported if the output carries none."""
        if not output.requires_grad:
            raise Unsupported("its output carries no gradient: it has no backward")
        self.grad_output = output_gradient(output, seed=self.seed)
        return self.grad_output

    def gradients(self, output: torch.Tensor, *, keep_graph: bool = False) -> Gradients:
        """Run backward from an output; None for a leaf that the output does not depend on."""
        try:
            return torch.autograd.grad(
                output, self.leaves, self.grad_output, retain_graph=keep_graph, allow_unused=True
            )
        except NotImplementedError as error:
            reason = closest_refusal(str(error))
        raise Unsupported(reason)

    def whole(self) -> Gradients:
        """Run forward and backward."""
        return self.gradients(self.forward())

    def timed(self) -> Call:
        """Return the call to time. For `backward` one forward is made here and its graph kept.

        Make it last: what the kept graph holds is resident from here on.
        """
        if self.phase == "forward":
            return self.forward
        if self.phase == "forward_backward":
            return self.whole
        output = self.forward()
        return lambda: self.gradients(output, keep_graph=True)


def output_gradient(output: torch.Tensor, *, seed: int) -> torch.Tensor:
    """Draw a standard normal gradient of an output, in its dtype and its layout in memory.

    The same numbers for every backend, whatever its layout, device and dtype.
    """
    generator = torch.Generator().manual_seed(seed + GRADIENT_SEED)
    drawn = torch.randn(output.shape, generator=generator)
    with torch.no_grad():
        return torch.empty_like(output, requires_grad=False).copy_(drawn)
