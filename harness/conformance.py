"""Conformance: what a backend was asked beyond the cells, and what was found; plain values."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Self

CONFORMS, DEVIATES, REFUSES, CRASHES = "conforms", "deviates", "refuses", "crashes"
VERDICTS = (CONFORMS, DEVIATES, REFUSES, CRASHES)
# What stands in the place of a backend where torch itself is asked.
NO_BACKEND = "torch"
# How the reason begins: a deviation that is known does not fail a run.
KNOWN, GONE = "known: ", "gone: "


@dataclass(frozen=True)
class Question:
    """One behaviour of one backend."""

    backend: str
    behaviour: str

    @property
    def name(self) -> str:
        """Name of the question's test."""
        return f"{self.backend}.{self.behaviour}"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Hold the answer to one question: a row of conformance.csv.

    `expected` and `observed` are short text. `reason` says why a question was refused, what
    crashed, or that a deviation is known; None where there is nothing to say.
    """

    backend: str
    behaviour: str
    device: str
    dtype: str
    expected: str | None = None
    observed: str | None = None
    verdict: str
    reason: str | None = None

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"unknown verdict {self.verdict!r}; valid: {', '.join(VERDICTS)}")

    @property
    def wrong(self) -> bool:
        """Whether the backend did not do what is right, and did not refuse either."""
        return self.verdict in (DEVIATES, CRASHES)

    @property
    def known(self) -> bool:
        """Whether this fault is listed with its library and versions."""
        return (self.reason or "").startswith(KNOWN)

    def as_dict(self) -> dict[str, Any]:
        """Return the columns as plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Rebuild a finding from its plain form."""
        return cls(**values)


COLUMNS = tuple(item.name for item in fields(Finding))


@dataclass(frozen=True)
class Seen:
    """Hold what a check saw beside what is right, both as short text, and whether they match."""

    expected: str
    observed: str
    conforms: bool
