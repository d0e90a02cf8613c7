"""Text: any text as one safe line, and what a wrong input is called in one line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

# A message is read on a line of a terminal; a value that is longer is shown by its beginning.
VALUE_LENGTH, MESSAGE_LENGTH = 60, 300
# Pydantic speaks of Python's types; people wrote TOML, JSON or CSV.
WANTED = {
    "dict_type": "must be a table of names and values",
    "model_type": "must be a table of names and values",
    "finite_number": "must be a finite number",
}


def printable(text: str) -> str:
    """Return text without control characters, so that a terminal shows it and obeys none of it.

    White space becomes a blank, but a tab stays one; a lone surrogate, which no file can hold, is
    left out.
    """
    if text.isprintable():
        return text
    kept = (sign if sign.isprintable() or sign == "\t" else " " * sign.isspace() for sign in text)
    return "".join(kept)


def one_line(text: object, length: int = MESSAGE_LENGTH) -> str:
    """Return any text as one printable line of at most so many characters."""
    line = printable(" ".join(str(text)[: 4 * length].split()))
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def unreadable(path: object, error: object) -> ValueError:
    """Return the error of a file that cannot be read: its path and why, in one line."""
    # An OSError says the path again, and its number says nothing.
    why = getattr(error, "strerror", None) or error
    return ValueError(f"{one_line(path)} cannot be read: {one_line(why)}")


def explain(
    error: ValidationError,
    *,
    place: Callable[[tuple[int | str, ...]], str],
    valid: Callable[[tuple[int | str, ...]], str],
) -> str:
    """Say one fault in one line: key, value, and what would be valid.

    `place` names a fault's location for people, `valid` lists the keys that could stand there. A
    value that may be one or a list fails once for each; the deepest fault is the one meant.
    """
    faults = sorted(error.errors(), key=lambda fault: -len(fault["loc"]))
    faults.sort(key=lambda fault: fault["type"] not in ("extra_forbidden", "too_short"))
    fault = faults[0]
    key = one_line(place(fault["loc"]), VALUE_LENGTH)
    if fault["type"] == "extra_forbidden":
        return f"unknown key {key!r}; valid: {valid(fault['loc'])}"
    if fault["type"] == "missing":
        return f"key {key!r} is missing"
    return f"{key} = {shown(fault['input'])}: {_wanted(fault)}"


def shown(value: Any) -> str:
    """Show a value in a message: as it would be written in Python, cut if it is long."""
    if isinstance(value, int) and abs(value) >= 10**VALUE_LENGTH:
        return "a whole number of more than 60 digits"
    return one_line(repr(value), VALUE_LENGTH)


def _wanted(fault: Any) -> str:
    if fault["type"] == "literal_error":
        return f"valid: {fault['ctx']['expected']}"
    return WANTED.get(fault["type"]) or one_line(
        fault["msg"].replace("Input should be", "must be").removeprefix("Value error, ")
    )
