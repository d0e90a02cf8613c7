"""Check: one thing that may spoil numbers, as observed, with advice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "warn", "fail"]


@dataclass(frozen=True)
class Check:
    """One finding; `advice` is empty where there is nothing to do.

    `warn` means that numbers may be off, `fail` that measuring cannot work.
    """

    name: str
    level: Level
    observed: str
    advice: str = ""


def judge(name: str, observed: str, *, warn: str = "", fail: str = "") -> Check:
    """Return a check that fails with the advice `fail`, else warns with `warn`, else is ok."""
    if fail:
        return Check(name, "fail", observed, fail)
    return Check(name, "warn", observed, warn) if warn else Check(name, "ok", observed)
