"""One colour, marker and line per backend, the same in every figure, and the order of backends.

Hues are those of Okabe and Ito (2008), told apart by people with any colour vision; a family of
backends shares a hue, and marker and line tell its members apart, in grey print too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from zlib import crc32

Dashes = tuple[float, ...] | str
SOLID: Dashes = ""
DASHED: Dashes = (4, 1.5)
DOTTED: Dashes = (1, 1)
DASH_DOT: Dashes = (3, 1, 1, 1)


@dataclass(frozen=True)
class Style:
    """Say how a backend looks: colour, marker, dashes (seaborn's form: "" is solid)."""

    colour: str
    marker: str
    dashes: Dashes


STYLES = {
    "naive": Style("#000000", "o", SOLID),
    "rowwise": Style("#8c8c8c", "s", SOLID),
    "tiled": Style("#e69f00", "^", SOLID),
    "sdpa": Style("#061f3e", "D", (2.5, 2.5)),
    "sdpa-math": Style("#56b4e9", "s", SOLID),
    "sdpa-flash": Style("#0072b2", "o", SOLID),
    "sdpa-efficient": Style("#4c78a8", "^", DASH_DOT),
    "sdpa-cudnn": Style("#8fc4de", "v", DOTTED),
    "xformers": Style("#009e73", "v", SOLID),
    "flash-attn": Style("#d55e00", "o", SOLID),
    "flash-attn-3": Style("#a84300", "s", DASHED),
    "flash-attn-4": Style("#f28e4b", "^", DASH_DOT),
    "flex": Style("#cc79a7", "h", SOLID),
}
FAMILIES = ("sdpa", "xformers", "flash-attn", "flex", "naive", "rowwise", "tiled")
# For names this program has never seen; the hues lie between those above.
OTHER_COLOURS = ("#7a5195", "#6b8e23", "#b8860b", "#008b8b", "#a0522d")
OTHER_MARKERS = ("p", "d", "<", ">", "*", "H")
OTHER_DASHES = (SOLID, DASHED, DOTTED)
DTYPE_STYLES = {
    "float64": Style("#000000", "D", SOLID),
    "float32": Style("#0072b2", "o", SOLID),
    "bfloat16": Style("#e69f00", "s", SOLID),
    "float16": Style("#d55e00", "^", SOLID),
}
MASK_STYLES = {
    "full": Style("#000000", "o", SOLID),
    "causal": Style("#0072b2", "s", SOLID),
    "causal-bottom-right": Style("#56b4e9", "D", SOLID),
    "padding": Style("#e69f00", "^", SOLID),
    "causal-padding": Style("#d55e00", "v", SOLID),
    "sliding-window": Style("#009e73", "P", SOLID),
    "alibi": Style("#cc79a7", "X", SOLID),
}


def style(backend: str) -> Style:
    """Return a backend's look; it depends on the name alone, also for names of users' own.

    A user's variant of a known family (`sdpa-mine`) takes that family's colour.
    """
    if backend in STYLES:
        return STYLES[backend]
    seed = crc32(backend.encode())
    marker = OTHER_MARKERS[seed % len(OTHER_MARKERS)]
    dashes = OTHER_DASHES[seed // 6 % len(OTHER_DASHES)]
    for family in FAMILIES:
        if backend.startswith(f"{family}-"):
            return Style(STYLES[family].colour, marker, dashes)
    return Style(OTHER_COLOURS[seed // 18 % len(OTHER_COLOURS)], marker, dashes)


def ordered(backends: Iterable[str]) -> list[str]:
    """Return distinct backends in their fixed order: known ones first, then the rest by name."""
    rank = {name: place for place, name in enumerate(STYLES)}
    return sorted(set(backends), key=lambda name: (rank.get(name, len(rank)), name))


def ordered_by(styles: dict[str, Style], names: Iterable[str]) -> list[str]:
    """Return distinct names in the order of a table of styles, unknown ones last."""
    rank = {name: place for place, name in enumerate(styles)}
    return sorted(set(names), key=lambda name: (rank.get(name, len(rank)), name))
