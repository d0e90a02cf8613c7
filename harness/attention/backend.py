"""Backend: the seam between a case and a library; and the one list of backends.

This file and every file in backends/ import torch and optional libraries inside functions only:
the parent process lists backends by name without loading torch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, TypeVar

if TYPE_CHECKING:
    import torch

    from harness.attention.inputs import Inputs
    from harness.case import Case

Call = Callable[[], "torch.Tensor"]


class Unsupported(Exception):
    """Raised by `prepare` or by a call: this backend cannot run this case; the text says why."""


class Unavailable(Exception):
    """Raised where a library is missing or broken: this backend cannot run here at all."""


class Backend:
    """Compute attention in one way.

    Subclass it in a file of backends/, decorate with `@backend`, and add one import line to
    backends/__init__.py. Override `prepare`, and what else differs from the defaults below.
    """

    name: ClassVar[str]
    # What it computes (case.WORK_CODES); a grid asks it for cases of this work alone.
    work: ClassVar[str] = "attention"
    # A regular expression that the recorded kernel must match. None: any kernel will do.
    pinned_kernel: ClassVar[str | None] = None
    # Score matrices [batch, heads, length_query, length_key] alive at the peak of a forward call;
    # 0 for kernels that never store one. Used only to refuse what would not fit.
    score_matrices: ClassVar[float] = 0.0
    # The same at the peak of forward + backward, with what is kept between the two.
    score_matrices_training: ClassVar[float] = 0.0
    # Whether backward computes the scores anew instead of keeping the weights: five products
    # against forward's two, so 2.5 times its work, of which 2 times counts as useful.
    recomputes: ClassVar[bool] = False
    # Like pinned_kernel, for an operator of the backward.
    pinned_backward: ClassVar[str | None] = None
    # Whether it takes a boolean mask of one's own (Inputs.explicit) beside the masks of a case.
    takes_mask: ClassVar[bool] = False
    # Whether each case is compiled, for seconds: it is then asked for little.
    compiled: ClassVar[bool] = False

    def unavailable(self, device: str) -> str | None:
        """Say why this backend cannot run here at all (one sentence), or None.

        This is the cheap half: a found module proves nothing. `probe.probe` asks this first, then
        makes a tiny call and checks its values.
        """
        return None

    def unsupported(self, case: Case) -> str | None:
        """Say why this backend cannot run this case (one sentence), or None.

        Answers from the case alone, without torch. What only the library knows is raised as
        `Unsupported` by `prepare` or by the call.
        """
        return None

    def prepare(self, case: Case, inputs: Inputs) -> Call:
        """Return a call without arguments that computes [batch, heads, length_query, dim_value].

        Layout changes, mask building and compilation belong here, outside the timed call.
        Never fall back to another kernel: raise `Unsupported` instead, here or in the call. With
        inputs that require gradients, prepare with gradients enabled, or the views made here
        are cut off from them.
        """
        raise NotImplementedError


BACKENDS: dict[str, Backend] = {}

B = TypeVar("B", bound=type[Backend])


def backend(cls: B) -> B:
    """Add a backend class to the one list, under its name."""
    if cls.name in BACKENDS:
        raise ValueError(f"backend {cls.name!r} is listed twice")
    BACKENDS[cls.name] = cls()
    return cls
