"""Behaviour: one thing that is right or wrong of a backend, as data and a small check; no torch.

Files of this package import torch inside functions, as backends do: the parent lists behaviours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.conformance import Seen

if TYPE_CHECKING:
    from harness.attention.behaviours.subject import Subject

# The first dtype is asked for; the next one only where a backend refuses it.
USUAL = ("float32", "float16", "bfloat16")
EXACT = ("float64", "float32", "float16")


Check = Callable[["Subject"], Seen]


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """Ask one question of a backend.

    `sources` are ids of claims (`A5`) and rows of the list of known troubles (`trouble-7`).
    A `risky` one has been seen to kill a process. `alone` asks torch itself, without a backend.
    With `may_raise` an exception is as good as the right answer: it counts as a refusal.
    """

    id: str
    sentence: str
    sources: tuple[str, ...]
    check: Check
    dtypes: tuple[str, ...] = USUAL
    risky: bool = False
    alone: bool = False
    may_raise: bool = False


BEHAVIOURS: dict[str, Behaviour] = {}


def behaviour(
    id: str,
    sentence: str,
    *sources: str,
    dtypes: tuple[str, ...] = USUAL,
    risky: bool = False,
    alone: bool = False,
    may_raise: bool = False,
) -> Callable[[Check], Check]:
    """Add a check to the list of behaviours; `sentence` says what is right."""

    def add(check: Check) -> Check:
        if id in BEHAVIOURS:
            raise ValueError(f"behaviour {id!r} is listed twice")
        BEHAVIOURS[id] = Behaviour(
            id=id,
            sentence=sentence,
            sources=sources,
            check=check,
            dtypes=dtypes,
            risky=risky,
            alone=alone,
            may_raise=may_raise,
        )
        return check

    return add
