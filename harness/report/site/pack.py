"""Pack: numbers and names as the script files that the pages read; nothing in them can be code.

Pages opened from a disk may not fetch files, but may add script tags: each file is one call that
hands its value over.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

# What could end a script element or a line of a script, where a file is ever put into a page.
ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}
KINDS = {"f4": "Float32Array", "f8": "Float64Array", "u1": "Uint8Array", "u4": "Uint32Array"}


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
