"""Reasons: turn a broken library or a refused call into one clear line; no torch."""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import re
import warnings
from collections.abc import Iterator
from types import ModuleType

from harness.attention.backend import Unavailable

REASON_LENGTH = 160
# Everything seen from broken installs; a KeyboardInterrupt is not one of them.
BROKEN = (Exception, SystemExit)


def one_line(error: BaseException | str) -> str:
    """Return the first line of an error's text: no addresses, at most 160 characters."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0] if lines else type(error).__name__
    text = re.sub(r"\s*\(Triggered internally at .*", "", text)
    text = re.sub(r"\s*(at )?0x[0-9a-fA-F]+", "", text)
    text = " ".join(text.split()).rstrip(":")
    return text if len(text) <= REASON_LENGTH else text[: REASON_LENGTH - 1].rstrip() + "…"


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
        raise Unavailable(one_line(f"cannot import {module}: {one_line(error)}")) from None


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
        return one_line(text)
    reason, *others = min(refusals, key=lambda lines: len(lines))
    for other in others:
        if len(reason) + len(other) + 2 <= REASON_LENGTH:
            reason += f"; {other}"
    return one_line(reason)
