"""Pack: tables as small script files that a page can load from a disk."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.report.site.matrix import RunMatrix

# What could end a script element or a line of a script, where a file is ever put into a page.
ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}
KINDS = {"f4": "Float32Array", "f8": "Float64Array", "u1": "Uint8Array", "u4": "Uint32Array"}
# 100,000 points are 2.8 MB of text, which a browser reads and decodes in about 0.1 s.
POINTS = 100_000
# Times as float32 keep seven digits, more than any interval; bytes are exact as float64.
TYPES = {
    "time_median_s": np.float32,
    "time_low_s": np.float32,
    "time_high_s": np.float32,
    "peak_bytes": np.float64,
}


def script(name: str, value: Any) -> str:
    """Return the text of a script that hands `value` over under `name`; JSON without NaN.

    The value goes as the text of its JSON, which the page parses: written as a script's object,
    a name like `__proto__` would be more than a name.
    """
    return f"site.take({text(name)},{text(plain(value))});\n"


def text(words: str) -> str:
    """Return a script's string of ASCII that is safe inside a script element too."""
    quoted = json.dumps(words)
    for sign, escape in ESCAPES.items():
        quoted = quoted.replace(sign, escape)
    return quoted


def plain(value: Any) -> str:
    """Return JSON without blanks; ValueError for NaN or inf."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def packed(values: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Pack an array of any shape, row by row, as the bytes of a typed array in base 64.

    Little-endian; dtype one of f4 f8 u1 u4. An array of one value throughout is that value and a
    length: peaks of memory and outcomes seldom move.
    """
    code = values.dtype.str[1:]
    if code not in KINDS:
        raise ValueError(f"cannot pack {values.dtype}; valid: {', '.join(KINDS)}")
    flat = np.ascontiguousarray(values, dtype=f"<{code}").reshape(-1)
    same = flat.size > 1 and bool(np.all(flat.view(f"<u{flat.itemsize}") == _first_bits(flat)))
    kept = flat[:1] if same else flat
    return {
        "kind": KINDS[code],
        "length": int(flat.size),
        "bytes": base64.b64encode(kept.tobytes()).decode("ascii"),
    }


def _first_bits(flat: np.ndarray[Any, Any]) -> Any:
    """Return the first value as whole bits, since NaN equals nothing."""
    return flat.view(f"<u{flat.itemsize}")[0]


@dataclass(frozen=True)
class Chunk:
    """Name some cells of one device and backend, and the runs that hold any of them."""

    cells: list[int]
    runs: list[int]


def chunks(matrix: RunMatrix) -> list[Chunk]:
    """Cut the cells into chunks of at most POINTS points, one cell at the least."""
    groups: dict[tuple[str, str], list[int]] = {}
    for cell, shape in enumerate(matrix.shapes):
        groups.setdefault((shape["device"], shape["backend"]), []).append(cell)
    return [chunk for cells in groups.values() for chunk in _cut(matrix, cells)]


def _cut(matrix: RunMatrix, cells: list[int]) -> Iterator[Chunk]:
    runs = np.flatnonzero(matrix.status[cells].any(axis=0)).tolist()
    size = max(1, POINTS // max(1, len(runs)))
    for start in range(0, len(cells), size):
        yield Chunk(cells[start : start + size], runs)


def contents(matrix: RunMatrix, chunk: Chunk) -> dict[str, Any]:
    """Return a chunk as plain values: run numbers, and per number a matrix of cells by runs."""
    place = np.ix_(chunk.cells, chunk.runs)
    numbers = {
        name: packed(matrix.numbers[name][place].astype(kind)) for name, kind in TYPES.items()
    }
    runs = packed(np.asarray(chunk.runs, dtype=np.uint32))
    return {"runs": runs, "status": packed(matrix.status[place]), **numbers}
