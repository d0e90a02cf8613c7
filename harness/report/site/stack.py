"""Stack: the cells of all runs laid one on the other, a matrix of cells by runs per number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from harness.report.site.night import NUMBERS, STATUSES, WHOLE, WORDS, Night

Matrix = np.ndarray[Any, Any]


@dataclass
class Stack:
    """Hold cells by runs: float64 [cells, runs] per number (NaN: not measured), and outcomes.

    `status` is an index into STATUSES; 0 says that the run has no such cell. A cell is told by
    its device and its name.
    """

    shapes: list[dict[str, Any]] = field(default_factory=list)
    numbers: dict[str, Matrix] = field(default_factory=dict)
    status: Matrix = field(default_factory=lambda: np.zeros((0, 0), dtype=np.uint8))

    @property
    def cells(self) -> int:
        """How many cells there are in all."""
        return len(self.shapes)


def stack(nights: Iterable[Night]) -> Stack:
    """Lay runs one on the other, in the order given."""
    found: dict[tuple[str, str], int] = {}
    made = Stack()
    nights = list(nights)
    places = [_places(night, found, made.shapes) for night in nights]
    made.status = np.zeros((made.cells, len(nights)), dtype=np.uint8)
    for column, (night, rows) in enumerate(zip(nights, places, strict=True)):
        made.status[rows, column] = [_outcome(word) for word in night.table["status"]]
    for name in NUMBERS:
        made.numbers[name] = _matrix(nights, places, name=name, cells=made.cells)
    return made


def _places(
    night: Night, found: dict[tuple[str, str], int], shapes: list[dict[str, Any]]
) -> list[int]:
    """Return the row of each cell of a run; a cell not seen before gets the next one."""
    default = str(night.facts.get("device") or "")
    devices = [str(name) for name in night.table["device"].fillna(default)]
    names = [str(name) for name in night.table["cell"]]
    rows = []
    for place, key in enumerate(zip(devices, names, strict=True)):
        if key not in found:
            found[key] = len(found)
            shapes.append(_shape(night, place, name=key[1], device=key[0]))
        rows.append(found[key])
    return rows


def _shape(night: Night, place: int, *, name: str, device: str) -> dict[str, Any]:
    """Return what a cell is, as plain values: text, whole numbers or None."""
    import pandas as pd

    row = night.table.iloc[place]
    words = {column: "" if pd.isna(row[column]) else str(row[column]) for column in WORDS}
    whole = {column: None if pd.isna(row[column]) else int(row[column]) for column in WHOLE}
    known = {"device": device, "work": words["work"] or "attention"}
    return {"name": name, **words, **whole, **known}


def _outcome(word: Any) -> int:
    """Return the index of an outcome; one that this program does not know counts as an error."""
    text = str(word)
    return STATUSES.index(text if text in STATUSES else "error")


def _matrix(nights: list[Night], places: list[list[int]], *, name: str, cells: int) -> Matrix:
    made = np.full((cells, len(nights)), np.nan)
    for column, (night, rows) in enumerate(zip(nights, places, strict=True)):
        values = night.numbers(name)
        made[rows, column] = np.where(np.isfinite(values), values, np.nan)
    return made
