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


class Backend:
    """Compute attention in one way.

    Subclass it in a file of backends/, decorate with `@backend`, and add one import line to
    backends/__init__.py. Override `prepare`, and what else differs from the defaults below.
    """

    name: ClassVar[str]
    # A regular expression that the recorded kernel must match. None: any kernel will do.
    pinned_kernel: ClassVar[str | None] = None
    # Score matrices [batch, heads, length_query, length_key] alive at the peak of a forward call;
    # 0 for kernels that never store one. Used only to refuse what would not fit.
    score_matrices: ClassVar[float] = 0.0

    def unavailable(self, device: str) -> str | None:
        """Say why this backend cannot run here at all (one sentence), or None.

        A found module proves nothing; the worker also makes a tiny call and checks it.
        """
        return None

    def unsupported(self, case: Case) -> str | None:
        """Say why this backend cannot run this case (one sentence), or None."""
        return None

    def prepare(self, case: Case, inputs: Inputs) -> Call:
        """Return a call without arguments that computes [batch, heads, length_query, dim_value].

        Layout changes, mask building and compilation belong here, outside the timed call.
        Never fall back to another kernel: raise instead.
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
