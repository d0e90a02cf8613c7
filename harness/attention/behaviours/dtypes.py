"""Dtypes: each agrees with the float64 oracle, or is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.attention.behaviours.behaviour import behaviour
from harness.case import DTYPE_CODES
from harness.conformance import Seen

if TYPE_CHECKING:
    from harness.attention.behaviours.subject import Subject


def _agrees_in(dtype: str) -> None:
    @behaviour(f"dtype-{dtype}", f"{dtype} agrees with the float64 oracle", dtypes=(dtype,))
    def check(subject: Subject) -> Seen:
        return subject.agrees(subject.inputs(48, mask="causal"))


for each in DTYPE_CODES:
    _agrees_in(each)
