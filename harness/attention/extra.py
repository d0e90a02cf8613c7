"""Extra: a user's own backend, given as MODULE:ATTR, beside the built-in ones."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from harness.attention.backend import Backend, Call

if TYPE_CHECKING:
    from harness.attention.inputs import Inputs
    from harness.case import Case


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
            return "its boolean mask cannot say a bias" if case.mask == "alibi" else None

        def prepare(self, case: Case, inputs: Inputs) -> Call:
            fixed = (inputs.query, inputs.key, inputs.value, inputs.keep(), inputs.scale)
            return cast(Call, lambda: function(*fixed))

    FunctionBackend.name = name
    return FunctionBackend()
