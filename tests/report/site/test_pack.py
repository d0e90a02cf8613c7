"""Numbers and names in script files: nothing is lost, and nothing in them can be code."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest

from harness.report.site.pack import packed, script


def unpacked(value: dict[str, Any], kind: str) -> np.ndarray[Any, Any]:
    """Read what the page's `unpack` reads."""
    values = np.frombuffer(base64.b64decode(value["bytes"]), dtype=kind)
    return values if values.size == value["length"] else np.full(value["length"], values[0])


@pytest.mark.parametrize("kind", ["f4", "f8", "u1", "u4"])
def test_an_array_comes_back_row_by_row(kind: str) -> None:
    values = np.arange(6, dtype=kind).reshape(2, 3)
    assert unpacked(packed(values), f"<{kind}").tolist() == [0, 1, 2, 3, 4, 5]


def test_absent_values_stay_absent() -> None:
    back = unpacked(packed(np.array([1.5, np.nan, 2.5])), "<f8")
    assert back[[0, 2]].tolist() == [1.5, 2.5]
    assert np.isnan(back[1])


@pytest.mark.parametrize("value", [7.0, np.nan])
def test_one_value_throughout_is_kept_once(value: float) -> None:
    made = packed(np.full((100, 10), value))
    assert len(base64.b64decode(made["bytes"])) == 8
    np.testing.assert_array_equal(unpacked(made, "<f8"), np.full(1000, value))


def test_nothing_and_one_thing_can_be_packed() -> None:
    assert unpacked(packed(np.zeros(0)), "<f8").tolist() == []
    assert unpacked(packed(np.array([3.0])), "<f8").tolist() == [3.0]


def test_a_type_that_pages_do_not_know_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot pack int64; valid: f4, f8, u1, u4"):
        packed(np.arange(3))


def test_text_cannot_end_a_script_nor_a_line_of_it() -> None:
    hostile = "</script><script>alert(1)</script>\u2028\u2029 & 'quotes\" \\"
    made = script("name", {hostile: hostile})
    assert "<" not in made
    assert "&" not in made
    assert made.isascii()
    handed = made.removeprefix('site.take("name",').removesuffix(");\n")
    assert json.loads(json.loads(handed)) == {hostile: hostile}


def test_no_file_holds_nan() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        script("name", [float("nan")])
