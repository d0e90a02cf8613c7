import itertools
import re

import pytest

from harness.cases.case import Case


def brute_pairs(case: Case) -> int:
    """Count allowed pairs one by one, from the definitions in words."""
    total = 0
    for kept in case.kept_keys():
        for i, j in itertools.product(range(case.length_query), range(case.length_key)):
            allowed = {
                "full": True,
                "causal": j <= i,
                "causal-bottom-right": j <= i + case.length_key - case.length_query,
                "padding": j < kept,
                "causal-padding": j <= i and j < kept,
                "sliding-window": i - (case.window or 0) < j <= i,
            }[case.mask]
            total += allowed
    return total


@pytest.mark.parametrize(
    "mask", ["full", "causal", "causal-bottom-right", "padding", "causal-padding"]
)
@pytest.mark.parametrize(("rows", "keys"), [(1, 1), (4, 10), (10, 4), (7, 7), (1, 5), (5, 1)])
@pytest.mark.parametrize("batch", [1, 3])
def test_pairs_are_counted_exactly(mask: str, rows: int, keys: int, batch: int) -> None:
    case = Case(length_query=rows, length_key=keys, mask=mask, batch=batch)
    assert case.pairs() == brute_pairs(case)


@pytest.mark.parametrize("window", [1, 3, 100])
@pytest.mark.parametrize(("rows", "keys"), [(8, 8), (4, 10), (10, 4)])
def test_window_pairs(window: int, rows: int, keys: int) -> None:
    case = Case(length_query=rows, length_key=keys, mask="sliding-window", window=window)
    assert case.pairs() == brute_pairs(case)


def test_published_counts_of_a_causal_rectangle() -> None:
    counts = {
        mask: Case(length_query=4, length_key=10, mask=mask).pairs()
        for mask in ("causal", "causal-bottom-right", "full")
    }
    assert counts == {"causal": 10, "causal-bottom-right": 34, "full": 40}
    assert Case.square(100, mask="causal").pairs() == 100 * 101 // 2


def test_flops_count_two_products_and_backward_twice_that() -> None:
    case = Case(length_query=8, length_key=16, heads=3, heads_kv=3, dim_key=5, dim_value=7)
    assert case.flops() == 2 * 8 * 16 * 3 * (5 + 7)
    assert case.with_(phase="backward").flops() == 2 * case.flops()
    assert case.with_(phase="forward_backward").flops() == 3 * case.flops()


def test_bytes_count_inputs_and_output_once() -> None:
    case = Case(
        length_query=8,
        length_key=16,
        heads=4,
        heads_kv=2,
        dim_key=5,
        dim_value=7,
        dtype="bfloat16",
    )
    query, key, value, output = 4 * 8 * 5, 2 * 16 * 5, 2 * 16 * 7, 4 * 8 * 7
    assert case.input_bytes() == 2 * (query + key + value)
    assert case.output_bytes() == 2 * output
    assert case.min_bytes() == 2 * (query + key + value + output)
    assert case.score_bytes() == 2 * 4 * 8 * 16


def test_flops_of_a_long_case_need_no_matrix() -> None:
    assert Case.square(10_000_000, mask="causal").pairs() == 10_000_000 * 10_000_001 // 2


def test_ids_are_short_and_tell_cases_apart() -> None:
    assert Case.square(4096, heads=8, dtype="bfloat16", mask="causal").id == (
        "fwd-t4096-h8-d64-bf16-causal"
    )
    changes = [
        {}, {"batch": 2}, {"heads": 8, "heads_kv": 8}, {"heads_kv": 2}, {"length_key": 9},
        {"dim_key": 32}, {"dim_value": 32}, {"dtype": "float16"}, {"mask": "padding"},
        {"mask": "sliding-window", "window": 7}, {"mask": "sliding-window", "window": 8},
        {"phase": "backward"}, {"phase": "forward_backward"},
    ]  # fmt: skip
    ids = [Case.square(64).with_(**change).id for change in changes]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z0-9.-]+", one) for one in ids)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"dtype": "fp8"}, "unknown dtype 'fp8'; valid: float64, float32, bfloat16, float16"),
        ({"mask": "caual"}, "unknown mask 'caual'; valid: full, causal"),
        ({"phase": "up"}, "unknown phase 'up'"),
        ({"length_query": -1}, "length_query must be a whole number of at least 1, not -1"),
        ({"heads": 4, "heads_kv": 3}, "heads 4 is not a multiple of heads_kv 3"),
        ({"window": 5}, "window goes with mask sliding-window"),
        ({"mask": "sliding-window"}, "window goes with mask sliding-window"),
    ],
)
def test_wrong_values_are_named(change: dict[str, object], words: str) -> None:
    fields = {"length_query": 8, "length_key": 8} | change
    with pytest.raises(ValueError, match=re.escape(words)):
        Case(**fields)  # type: ignore[arg-type]


def test_padding_keeps_some_and_drops_some() -> None:
    for batch, length in itertools.product((1, 2, 8), (8, 33, 512)):
        kept = Case.square(length, batch=batch, mask="padding").kept_keys()
        assert len(kept) == batch
        assert all(0 < one < length for one in kept[-1:])
        assert all(0 < one <= length for one in kept)
