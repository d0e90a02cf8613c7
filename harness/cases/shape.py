"""Shape: the axes of a case, one field each, from which grids, records and tables take theirs.

A new axis is one entry here: it then stands in the id, in a grid file, in every table, and keeps
apart the sweeps that differ in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

from harness.cases.masks import MASKS

ITEM_SIZES = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2}
DTYPE_CODES = {"float64": "f64", "float32": "f32", "bfloat16": "bf16", "float16": "f16"}
# What is computed. `attention` is the operation alone; the others are what it is a part of, or is
# compared with, and take hidden states of width heads * dim_key.
WORK_CODES = {
    "attention": "",
    "layer": "layer-",
    "projections": "projections-",
    "rnn": "rnn-",
    "gru": "gru-",
    "lstm": "lstm-",
    "packed": "packed-",
    "sequence": "sequence-",
    "step": "step-",
}
PHASE_CODES = {"forward": "fwd", "backward": "bwd", "forward_backward": "fwdbwd"}
# A CUDA launch has at most so many blocks along its second axis, where heads and batch go.
BLOCKS_MOST = 65_535
LENGTH_MOST = 2**30


def axis(
    what: str,
    *,
    unit: str = "",
    absent: Any = 0,
    most: int = BLOCKS_MOST,
    names: Iterable[str] = (),
    code: str = "",
) -> Any:
    """Declare one axis: what it is, what stands where it is absent, and what a grid may say.

    A whole number goes up to `most`; a text is one of `names`. `code` stands before the value in
    an id; an axis that is None by default stands there only where it is given.
    """
    known = {"unit": unit, "what": what, "most": most, "names": tuple(names), "code": code}
    return field(default=absent, metadata=known)


@dataclass(frozen=True, kw_only=True)
class Fixed:
    """All that stays fixed in a sweep over T; the defaults say that nothing is known."""

    device: str = axis("cpu, cuda or cuda:N", absent="")
    batch: int = axis("batch entries")
    heads: int = axis("query heads")
    heads_kv: int = axis("key and value heads")
    dim_key: int = axis("features of a query and a key")
    dim_value: int = axis("features of a value")
    dtype: str = axis("element type", absent="", names=DTYPE_CODES)
    mask: str = axis("which keys a query may see", absent="", names=MASKS)
    window: int | None = axis(
        "keys a sliding window keeps", unit="positions", absent=None, most=LENGTH_MOST
    )
    phase: str = axis("forward, backward or forward_backward", absent="", names=PHASE_CODES)
    work: str = axis("attention, or what it is a part of", absent="attention", names=WORK_CODES)


@dataclass(frozen=True, kw_only=True)
class Shape(Fixed):
    """All axes of a case, and what follows from them alone.

    Query is [batch, heads, length_query, dim_key], key [batch, heads_kv, length_key, dim_key],
    value [batch, heads_kv, length_key, dim_value], output [batch, heads, length_query, dim_value].
    """

    length_query: int = axis("queries per sequence", unit="positions", most=LENGTH_MOST)
    length_key: int = axis("keys per sequence", unit="positions", most=LENGTH_MOST)

    @property
    def width(self) -> int:
        """Features of a hidden state: all heads side by side."""
        return self.heads * self.dim_key

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return ITEM_SIZES[self.dtype]

    def kept_keys(self) -> tuple[int, ...]:
        """Return how many keys each batch entry keeps: all, or under padding about 3/4 of them."""
        if not MASKS[self.mask].ragged:
            return (self.length_key,) * self.batch
        parts = 2 * (self.batch + 1)
        return tuple(
            self.length_key - self.length_key * (entry + 1) // parts for entry in range(self.batch)
        )

    def key_span(self, row: int, *, kept: int | None = None) -> tuple[int, int]:
        """Return the half-open span [start, stop) of key positions that query `row` may see.

        `kept` is how many keys the batch entry keeps (`kept_keys()`); default all. Both ends
        never fall from one row to the next. The span of an empty row has start >= stop.
        """
        limit = self.length_key if kept is None else kept
        return MASKS[self.mask].span(row, kept=limit, **self._lengths())

    def widest_spans(self) -> list[tuple[int, int]]:
        """Return for each row the span of the batch entry that keeps the most keys."""
        kept = max(self.kept_keys())
        return [self.key_span(row, kept=kept) for row in range(self.length_query)]

    def empty_rows(self) -> int:
        """Count the query positions that may see no key at all."""
        return MASKS[self.mask].empty_rows(**self._lengths())

    def pairs(self) -> int:
        """Count the attended (query, key) pairs of one head over the whole batch, exactly."""
        mask, lengths = MASKS[self.mask], self._lengths()
        if not mask.ragged:
            return self.batch * mask.pairs(kept=self.length_key, **lengths)
        return sum(mask.pairs(kept=kept, **lengths) for kept in self.kept_keys())

    def _lengths(self) -> dict[str, Any]:
        return {"queries": self.length_query, "keys": self.length_key, "window": self.window}


_NAMES = [item.name for item in fields(Fixed)]
_LENGTHS = ("length_query", "length_key")
_DIMS = _NAMES.index("dim_key")
# Every axis in the order of tables: lengths stand before the dims.
AXES = (*_NAMES[:_DIMS], *_LENGTHS, *_NAMES[_DIMS:])
_TEXTS = [item.name for item in fields(Fixed) if isinstance(item.default, str)]
# What is fixed in a sweep in the order of sorting: names first, then numbers.
FIXED = (*_TEXTS, *(name for name in _NAMES if name not in _TEXTS))
# Axes that a case mostly goes without.
OPTIONAL = {item.name: item for item in fields(Fixed) if item.default is None}


def further_codes(shape: Fixed) -> list[str]:
    """Name the optional axes that are set, as in an id; the window stands beside its mask."""
    return [
        f"{item.metadata['code'] or name}{getattr(shape, name)}"
        for name, item in OPTIONAL.items()
        if name != "window" and getattr(shape, name) is not None
    ]
