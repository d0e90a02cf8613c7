"""Spans: the run of keys that each query may see, as plain numbers; no torch.

Every mask of a case lets a query see one run of neighbouring keys. Backends that skip what is
hidden slice by it; masks.py says the same thing as a matrix, and the tests hold the two together.
"""

from __future__ import annotations

from harness.cases.case import Case

TOP_LEFT_MASKS = ("causal", "causal-padding", "sliding-window", "alibi")


def key_span(case: Case, row: int, *, kept: int | None = None) -> tuple[int, int]:
    """Return the half-open span [start, stop) of key positions that query `row` may see.

    `kept` is how many keys the batch entry keeps (`case.kept_keys()`); default all. Both ends
    never fall from one row to the next. The span of an empty row has start >= stop.
    """
    stop = case.length_key
    if case.mask in TOP_LEFT_MASKS:
        stop = row + 1
    if case.mask == "causal-bottom-right":
        stop = row + 1 + case.length_key - case.length_query
    start = 0 if case.window is None else max(0, row + 1 - case.window)
    limit = case.length_key if kept is None else kept
    return min(start, limit), max(0, min(stop, limit))


def widest_spans(case: Case) -> list[tuple[int, int]]:
    """Return for each row the span of the batch entry that keeps the most keys."""
    kept = max(case.kept_keys())
    return [key_span(case, row, kept=kept) for row in range(case.length_query)]


def empty_rows(case: Case) -> int:
    """Count the query positions that may see no key at all.

    Their softmax is undefined (0 / 0): the oracle says 0, the naive formula NaN.
    """
    if case.mask == "causal-bottom-right":
        return max(0, case.length_query - case.length_key)
    if case.window is not None:
        return max(0, case.length_query - (case.length_key + case.window - 1))
    return 0


def alibi_slopes(heads: int) -> list[float]:
    """Return ALiBi's slope of each head, 2^(-8i/H) for i = 1..H (Press et al. 2022, section 3).

    The paper's own code takes other slopes where H is no power of two; here the formula holds
    for every H.
    """
    return [2.0 ** (-8.0 * head / heads) for head in range(1, heads + 1)]
