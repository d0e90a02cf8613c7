"""Text that is safe to print, in Markdown and on terminals, from files nobody vouches for."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from harness.cases.text import printable
from harness.report.words import units

if TYPE_CHECKING:
    import pandas as pd

# Characters that would start markup anywhere; an underscore does so only at the edge of a word.
_MARKUP = re.compile(r"([\\`*\[\]|~$]|(?<!\w)_|_(?!\w))")
_NUMBER = re.compile(r"[-+]?[\d.,]+(e[-+]\d+)?(\s|×|$)")
_LINE_START = re.compile(r"^(#+|[-+>]|\d+[.)])(?=\s|$)")
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def plain(value: Any) -> str:
    """Return one printable line: no newlines, no control characters, `-` if absent."""
    if value is None or value != value or str(value) in ("<NA>", ""):
        return units.ABSENT
    return printable(" ".join(str(value).split())) or units.ABSENT


def escape(value: Any) -> str:
    """Return one line of Markdown that renders as the text itself: no HTML, no markup.

    markupsafe escapes HTML alone, and quotes with it.
    """
    text = _MARKUP.sub(r"\\\1", plain(value)).translate(_ENTITIES)
    return text if text == units.ABSENT else _LINE_START.sub(r"\\\1", text)


def shorten(text: str, length: int) -> str:
    """Cut a line to a length, at a word where there is one, with an ellipsis."""
    if len(text) <= length:
        return text
    cut = text[: length - 1]
    return (cut[: cut.rfind(" ")] if " " in cut[length // 2 :] else cut).rstrip(" ,;:") + "…"


def markdown_table(frame: pd.DataFrame, *, raw: Collection[str] = ()) -> str:
    """Write a frame of texts as a table; every cell is escaped, numbers are set to the right.

    Columns in `raw` are Markdown of our own making and go in as they are. tabulate does not
    escape, and sets only bare numbers to the right, none with a unit.
    """
    names = [str(name) for name in frame.columns]
    rows = [
        [value if name in raw else escape(value) for name, value in zip(names, row, strict=True)]
        for row in frame.itertuples(index=False, name=None)
    ]
    marks = ["---:" if _is_numeric(frame.iloc[:, at]) else "---" for at in range(len(names))]
    lines = [[escape(name) for name in names], marks, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def code_block(text: Any, language: str = "") -> str:
    """Write one line as a fenced block that the line itself cannot close."""
    line = plain(text)
    longest = max((len(run) for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{line}\n{fence}"


def details(title: str, body: str) -> str:
    """Fold a long part away under a title (our own words: the title is not escaped)."""
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def _is_numeric(column: pd.Series[Any]) -> bool:
    """Whether a column of texts holds numbers: then its digits line up on the right."""
    texts = [str(value) for value in column if str(value) != units.ABSENT]
    numbers = [text for text in texts if len(text) < 40 and _NUMBER.match(text)]
    return bool(texts) and 2 * len(numbers) >= len(texts)
