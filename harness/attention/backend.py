"""Backend: one way of computing attention; the list of them, and why one is not there."""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from harness.cases.masks import MASKS
from harness.cases.text import one_line

if TYPE_CHECKING:
    import torch

    from harness.attention.inputs import Inputs
    from harness.cases.case import Case

Call = Callable[[], "torch.Tensor"]
REASON_LENGTH = 160
# Everything seen from broken installs; a KeyboardInterrupt is not one of them.
BROKEN = (Exception, SystemExit)


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
    # The first part of the names of its variants, where it has some: `sdpa` of `sdpa-flash`.
    family: ClassVar[str] = ""
    # Whether it computes all pairs that a mask leaves in products of matrices: time as T^2.
    dense: ClassVar[bool] = False
    # Whether blocks of keys that a mask hides are never looked at.
    skips_hidden: ClassVar[bool] = False
    # Whether it may run a kernel that stores the scores or one that does not, as it sees fit.
    chooses_kernel: ClassVar[bool] = False
    # The package on PyPI whose version belongs to the facts of a run.
    package: ClassVar[str] = ""
    # Masks that it knows; None: whatever `inputs.keep()` or the case's spans say.
    masks: ClassVar[frozenset[str] | None] = None
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

    def refusal(self, case: Case) -> str | None:
        """Say why this backend cannot run this case: for its mask, or as `unsupported` says."""
        if self.masks is not None and case.mask not in self.masks:
            return f"it has no mask {case.mask}"
        return self.unsupported(case)

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


def extra_name(spec: str) -> str:
    """Return the backend's name, its attribute with dashes; ValueError if not MODULE:ATTR.

    The module is not imported: the parent process needs only the name.
    """
    module, colon, attribute = spec.partition(":")
    if not (module and colon and attribute.isidentifier()):
        raise ValueError(f"an extra backend is MODULE:ATTR, not {spec!r}")
    return attribute.lower().replace("_", "-")


def load_extra(spec: str) -> Backend:
    """Import a backend: an instance or subclass of Backend, or a function.

    The function gets (query, key, value, mask, scale): tensors in [batch, heads, length, dim], a
    boolean mask [batch or 1, 1, length_query, length_key] that is True where a query may look, or
    None, and a float. The folder of the run is searched last.
    """
    name = extra_name(spec)
    module, _, attribute = spec.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    found: Any = getattr(importlib.import_module(module), attribute)
    if isinstance(found, Backend):
        return found
    if isinstance(found, type) and issubclass(found, Backend):
        return found()
    return wrap_function(name, found)


def wrap_function(name: str, function: Callable[..., Any]) -> Backend:
    """Make a backend of a bare function."""

    class FunctionBackend(Backend):
        takes_mask = True

        def unsupported(self, case: Case) -> str | None:
            return "its boolean mask cannot say a bias" if MASKS[case.mask].biased else None

        def prepare(self, case: Case, inputs: Inputs) -> Call:
            fixed = (inputs.query, inputs.key, inputs.value, inputs.keep(), inputs.scale)
            return cast(Call, lambda: function(*fixed))

    FunctionBackend.name = name
    return FunctionBackend()


def reason_of(error: BaseException | str) -> str:
    """Return why a library failed: the first line of its error, without addresses, cut short."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0] if lines else type(error).__name__
    text = re.sub(r"\s*\(Triggered internally at .*", "", text)
    text = re.sub(r"\s*(at )?0x[0-9a-fA-F]+", "", text)
    return one_line(text.rstrip(": "), REASON_LENGTH)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Hide warnings, log lines and prints of a library; errors still come through.

    Not for timed calls, and only what goes through Python: a C library's own prints stay.
    """
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    sink = io.StringIO()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink):
                yield
    finally:
        logging.disable(disabled)


def load(module: str) -> ModuleType:
    """Import an optional library quietly; raise Unavailable with the reason when it is broken."""
    try:
        with quiet():
            return importlib.import_module(module)
    except BROKEN as error:
        raise Unavailable(reason_of(f"cannot import {module}: {reason_of(error)}")) from None


def broken(*modules: str) -> str | None:
    """Say why one of these modules cannot be imported, or None."""
    try:
        for module in modules:
            load(module)
    except Unavailable as error:
        return str(error)
    return None


def closest_refusal(text: str) -> str:
    """Return what the operator nearest to accepting says: the one with the fewest objections."""
    refusals: list[list[str]] = []
    for line in text.splitlines():
        if "is not supported because" in line:
            refusals.append([])
        elif refusals and line.strip():
            refusals[-1].append(line.strip())
    if not refusals:
        return reason_of(text)
    reason, *others = min(refusals, key=lambda lines: len(lines))
    for other in others:
        if len(reason) + len(other) + 2 <= REASON_LENGTH:
            reason += f"; {other}"
    return reason_of(reason)
