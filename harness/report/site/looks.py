"""Looks: the report's colour, marker and line of a backend in the words of the pages' charts."""

from __future__ import annotations

from typing import Any

from harness.report.palette import Dashes, style

# matplotlib's markers in plotly's words.
SYMBOLS = {
    "o": "circle", "s": "square", "^": "triangle-up", "v": "triangle-down", "D": "diamond",
    "d": "diamond-tall", "h": "hexagon", "H": "hexagon2", "p": "pentagon", "P": "cross",
    "X": "x", "*": "star", "<": "triangle-left", ">": "triangle-right",
}  # fmt: skip
# A dash is a multiple of the line's width in the figures, and of pixels here: lines are 2 wide.
PIXELS = 2.0


def look(backend: str) -> dict[str, Any]:
    """Return a backend's name, colour, symbol and dash; they depend on the name alone."""
    made = style(backend)
    return {
        "name": backend,
        "colour": made.colour,
        "symbol": SYMBOLS[made.marker],
        "dash": dash(made.dashes),
    }


def dash(dashes: Dashes) -> str:
    """Return a dash as `8px,3px`, or `solid`."""
    return ",".join(f"{PIXELS * float(part):g}px" for part in dashes) or "solid"
