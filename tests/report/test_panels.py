from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from harness.cases.case import Case
from harness.records.tables import make_table
from harness.report import panels
from tests.support.made_runs import cell, full_cells


def table_of(cells: list) -> pd.DataFrame:
    return make_table(record for record, _ in cells)


def cases(**fields: object) -> Iterator[Case]:
    for length in (64, 128, 256):
        yield Case.square(length, **fields)


def test_panels_part_every_column_and_the_richest_is_first() -> None:
    found = panels.length_panels(table_of(full_cells()))
    assert [panel.mask for panel, _ in found] == ["full", "causal"]
    for _, frame in found:
        assert not frame.duplicated(["backend", "length_query"]).any()
        assert frame[[*panels.SHARED]].drop_duplicates().shape[0] == 1


def test_equal_panels_are_equal_keys() -> None:
    frame = table_of([cell("naive", "length", case, "made") for case in cases()])
    first = panels.length_panels(frame)[0][0]
    assert first == panels.Panel.of(Case.square(64))
    assert hash(first) == hash(panels.Panel.of(Case.square(128)))


def test_slugs_differ_where_panels_do() -> None:
    kinds = [
        {}, {"batch": 2}, {"heads_kv": 2}, {"dim_value": 32}, {"dtype": "float16"},
        {"mask": "causal"}, {"mask": "sliding-window", "window": 64}, {"phase": "backward"},
        {"device": "cuda:1"}, {"mask": "sliding-window", "window": 32},
    ]  # fmt: skip
    slugs = [panels.Panel.of(Case.square(64, **kind)).slug for kind in kinds]
    assert len(set(slugs)) == len(slugs)
    assert all(set(slug) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") for slug in slugs)


def test_a_cell_of_two_suites_is_one_row() -> None:
    case = Case.square(64)
    frame = table_of([cell("naive", suite, case, "made") for suite in ("length", "heads")])
    assert panels.distinct(frame)["suite"].tolist() == ["heads"]


def test_other_lengths_of_keys_are_no_part_of_a_sweep() -> None:
    crossed = [case.with_(length_key=64) for case in cases()]
    frame = table_of([cell("naive", "cross", case, "made") for case in crossed])
    assert panels.length_panels(frame) == []


def test_axis_panels_differ_in_one_axis() -> None:
    table = table_of(full_cells())
    for axis, title in {
        "heads": "cpu, float32, full mask, forward, B=1 D=64 T=512",
        "batch": "cpu, float32, full mask, forward, H=4 D=64 T=512",
        "mask": "cpu, float32, forward, B=1 H=4 D=64 T=512",
        "dtype": "cpu, full mask, forward, B=1 H=4 D=64 T=512",
    }.items():
        found = panels.axis_panel(table, axis)
        assert found is not None
        assert found[0].title(without=axis, length=512) == title
        assert not found[1].duplicated(["backend", axis]).any()
    assert panels.axis_panel(table, "dim_key") is None


def test_grouped_heads_keep_their_ratio() -> None:
    shapes = [(2, 1), (4, 2), (4, 4), (8, 4)]
    made = [Case.square(64, heads=heads, heads_kv=kv) for heads, kv in shapes]
    found = panels.axis_panel(
        table_of([cell("naive", "heads", case, "x") for case in made]), "heads"
    )
    assert found is not None
    assert found[1]["heads"].tolist() == [2, 4, 8]
