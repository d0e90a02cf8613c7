"""Masks: every kind in one table: its name in an id, and the one rule that all else follows from.

A mask lets a query see a run of neighbouring keys. From the ends of that run follow the matrix
(attention/inputs.py), the spans that blockwise backends skip by, the empty rows, and the pairs
that are counted, in closed form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

# How far behind its own position a query's run of keys ends, given (queries, keys).
Alignment = Callable[[int, int], int]


def top_left(queries: int, keys: int) -> int:
    """Let position i see keys 0..i, as torch's `is_causal` does."""
    return 1


def bottom_right(queries: int, keys: int) -> int:
    """Let the last query see every key, as flash-attn does since 2.1."""
    return 1 + keys - queries


@dataclass(frozen=True, kw_only=True)
class Mask:
    """Say which keys a query may see: one entry of the table.

    `code` is its name in an id. With `causal` a query sees no key behind its own position,
    aligned as that says. A `windowed` one sees only the newest `window` keys (a field of the
    case). A `ragged` one hides the end of each batch entry, which is padding. A `biased` one
    adds ALiBi's linear bias to the scores. `square` names the mask that it is the same as where
    there are as many keys as queries.
    """

    code: str
    causal: Alignment | None = None
    windowed: bool = False
    ragged: bool = False
    biased: bool = False
    square: str = ""

    def span(
        self, row: int, *, queries: int, keys: int, window: int | None, kept: int
    ) -> tuple[int, int]:
        """Return the half-open run of keys that query `row` sees, of `kept` keys that are real.

        Both ends never fall from one row to the next. An empty row has start >= stop.
        """
        end = row + self.own_end(queries, keys)
        stop = keys if self.causal is None else end
        start = 0 if window is None else max(0, end - window)
        return min(start, kept), max(0, min(stop, kept))

    def own_end(self, queries: int, keys: int) -> int:
        """Return where the run of query 0 ends that sees the past and its own position alone."""
        return 1 if self.causal is None else self.causal(queries, keys)

    def pairs(self, *, queries: int, keys: int, window: int | None, kept: int) -> int:
        """Count the pairs (query, key) of one head and batch entry: the runs' lengths summed."""
        own = self.own_end(queries, keys)
        stops = queries * kept if self.causal is None else ramp(queries, own, kept)
        return stops - (0 if window is None else ramp(queries, own - window, kept))

    def empty_rows(self, *, queries: int, keys: int, window: int | None) -> int:
        """Count the queries that see no key at all: those before the first, those past the window.

        Their softmax is undefined (0 / 0): the oracle says 0, the naive formula NaN.
        """
        own = self.own_end(queries, keys)
        before = 0 if self.causal is None else max(0, 1 - own)
        behind = 0 if window is None else max(0, queries + own - (keys + window))
        return min(queries, before + behind)


def ramp(rows: int, start: int, most: int) -> int:
    """Sum min(max(row + start, 0), most) over rows 0, 1, ..: the area under a clipped ramp."""
    return _rising(rows + start, most) - _rising(start, most)


def _rising(count: int, most: int) -> int:
    """Sum min(value, most) over values 0 .. count - 1; 0 for a count below 1."""
    low = min(max(count, 0), most)
    return low * (low - 1) // 2 + max(0, count - low) * most


MASKS = {
    "full": Mask(code="full"),
    "causal": Mask(code="causal", causal=top_left),
    "causal-bottom-right": Mask(code="causal-br", causal=bottom_right, square="causal"),
    "padding": Mask(code="padding", ragged=True),
    "causal-padding": Mask(code="causal-padding", causal=top_left, ragged=True),
    "sliding-window": Mask(code="window", causal=top_left, windowed=True),
    "alibi": Mask(code="alibi", causal=top_left, biased=True),
}
MASK_CODES = {name: mask.code for name, mask in MASKS.items()}


def alibi_slopes(heads: int) -> list[float]:
    """Return ALiBi's slope of each head, 2^(-8i/H) for i = 1..H (Press et al. 2022, section 3).

    The paper's own code takes other slopes where H is no power of two; here the formula holds
    for every H.
    """
    return [2.0 ** (-8.0 * head / heads) for head in range(1, heads + 1)]
