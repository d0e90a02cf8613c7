"""The masks as explicit little matrices, and the three ways of saying one mask held together."""

from __future__ import annotations

import pytest
import torch

from harness.attention.inputs import keep_mask
from harness.cases.case import Case
from harness.cases.masks import MASK_CODES


def case_of(mask: str, rows: int, keys: int, **fields: int) -> Case:
    window = fields.pop("window", 3)
    window = window if mask == "sliding-window" else None
    return Case(length_query=rows, length_key=keys, mask=mask, window=window, **fields)


def drawn(case: Case, entry: int = 0) -> list[str]:
    keep = keep_mask(case).expand(case.batch, -1, -1, -1)[entry, 0]
    return ["".join("1" if seen else "0" for seen in row) for row in keep.tolist()]


@pytest.mark.parametrize(
    ("mask", "rows", "keys", "picture"),
    [
        ("full", 2, 3, ["111", "111"]),
        ("causal", 3, 3, ["100", "110", "111"]),
        ("causal", 2, 5, ["10000", "11000"]),
        ("causal", 5, 2, ["10", "11", "11", "11", "11"]),
        ("causal", 1, 5, ["10000"]),
        ("causal-bottom-right", 2, 5, ["11110", "11111"]),
        ("causal-bottom-right", 5, 2, ["00", "00", "00", "10", "11"]),
        ("causal-bottom-right", 1, 5, ["11111"]),
        ("sliding-window", 5, 5, ["10000", "11000", "11100", "01110", "00111"]),
        ("sliding-window", 6, 2, ["10", "11", "11", "01", "00", "00"]),
    ],
)
def test_small_masks(mask: str, rows: int, keys: int, picture: list[str]) -> None:
    assert drawn(case_of(mask, rows, keys)) == picture


def test_padding_hides_the_last_keys_of_each_entry() -> None:
    case = case_of("padding", 2, 6, batch=2)
    assert case.kept_keys() == (5, 4)
    assert drawn(case, 0) == ["111110"] * 2
    assert drawn(case, 1) == ["111100"] * 2


def test_causal_padding_hides_both() -> None:
    assert drawn(case_of("causal-padding", 5, 5, batch=1)) == [
        "10000", "11000", "11100", "11110", "11110",
    ]  # fmt: skip


SHAPES = [(1, 1), (5, 2), (2, 5), (33, 33), (64, 7), (7, 64), (65, 129)]


@pytest.mark.parametrize("mask", MASK_CODES)
@pytest.mark.parametrize(("rows", "keys"), SHAPES)
@pytest.mark.parametrize("batch", [1, 3])
def test_pairs_spans_and_empty_rows_say_the_same(
    mask: str, rows: int, keys: int, batch: int
) -> None:
    for window in (1, 3, 40) if mask == "sliding-window" else (3,):
        case = case_of(mask, rows, keys, batch=batch, window=window)
        keep = keep_mask(case).expand(batch, 1, -1, -1)
        assert int(keep.sum()) == case.pairs()
        assert int((~keep.any(-1)).sum()) == batch * case.empty_rows()
        for entry, kept in enumerate(case.kept_keys()):
            for row in range(rows):
                start, stop = case.key_span(row, kept=kept)
                seen = keep[entry, 0, row].nonzero().flatten().tolist()
                assert seen == list(range(start, stop))


def test_some_rows_are_rows_of_the_whole() -> None:
    case = case_of("sliding-window", 20, 30)
    rows = torch.tensor([0, 7, 19])
    assert torch.equal(keep_mask(case, rows=rows), keep_mask(case)[:, :, rows])
