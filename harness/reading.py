"""Reading: text, JSON and CSV of files that nobody vouches for; nothing in them is executed."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

from harness.faults import one_line, printable, shown, unreadable

WHOLE_MOST = 2**63 - 1  # what a column of 64 bits holds
Row = tuple[int, dict[str, str]]
DEPTH_MOST = 20  # how deep facts may be nested; those of this program are four deep


def parse_json(text: str | bytes) -> Any:
    """Read JSON as the standard has it, so without NaN; ValueError if it is not, or too deep."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _refuse(text: str) -> float:
    raise ValueError(f"{text} is not allowed")


def tidy(value: Any, place: str = "", depth: int = 0) -> Any:
    """Return JSON's values with printable texts; ValueError for a number or a depth beyond use."""
    if depth > DEPTH_MOST:
        raise ValueError(f"{one_line(place, 60)} is nested deeper than {DEPTH_MOST} levels")
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {
            printable(key): tidy(item, f"{place}.{key}".lstrip("."), depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [tidy(item, f"{place}.{at}", depth + 1) for at, item in enumerate(value)]
    if isinstance(value, (int, float)) and not abs(value) <= WHOLE_MOST:
        raise ValueError(f"{one_line(place, 60)} = {shown(value)}: must be finite and below 2^63")
    return value


def read_rows(path: Path, *, cut: bool = False) -> tuple[list[str], list[Row]]:
    """Return the head of a CSV file and its rows, each with its line; ValueError if it is none.

    With `cut`, a last row that has no end yet is left out.
    """
    text = read_text(path)
    if cut:
        text = text[: text.rfind("\n") + 1]
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        head = next(reader, [])
        rows = [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        raise unreadable(path, f"line {reader.line_num}: {error}") from None
    for line, row in rows:
        if len(row) != len(head):
            raise unreadable(path, f"line {line} has {len(row)} values, the head {len(head)}")
    return head, [(line, dict(zip(head, row, strict=True))) for line, row in rows]


def read_text(path: Path) -> str:
    """Read a text file; ValueError in one line if it is not one. A pipe would never end."""
    try:
        if path.exists() and not path.is_file():
            raise unreadable(path, "it is not a file")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error) from None
