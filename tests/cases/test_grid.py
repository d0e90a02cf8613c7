from pathlib import Path

import pytest

from harness.cases.case import Case
from harness.cases.grid import grid_names, load_grid, make_case


def written(folder: Path, text: str) -> str:
    path = folder / "mine.toml"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("name", grid_names())
def test_every_grid_of_the_suite_loads(name: str) -> None:
    grid = load_grid(name)
    assert grid.name == name
    assert grid.description
    assert list(grid.cases("cpu"))


def test_the_five_grids_are_there() -> None:
    assert {"smoke", "quick", "standard", "full", "nightly"} <= set(grid_names())


def test_a_users_own_file_works_by_path(tmp_path: Path) -> None:
    grid = load_grid(
        written(
            tmp_path,
            '[base]\nheads = 2\n[[series]]\nsuite = "length"\nlength = [8, 16]\n'
            'mask = ["full", "causal"]\n',
        )
    )
    ids = [case.id for _, case in grid.cases("cpu")]
    assert ids == [
        "fwd-t8-h2-d64-f32-full", "fwd-t8-h2-d64-f32-causal",
        "fwd-t16-h2-d64-f32-full", "fwd-t16-h2-d64-f32-causal",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1", "unknown key 'x'; valid: name, description, target"),
        ('[[series]]\nsuite="l"\nlengths=[3]', "unknown key 'series.0.lengths'; valid: batch"),
        ('[base]\nmask="caual"\n[[series]]\nsuite="l"', "base.mask = 'caual': valid: 'full'"),
        ('[[series]]\nsuite="l"\nlength=[-1]', "series.0.length.0 = -1: must be greater than 0"),
        ('[[series]]\nsuite="l"\nlength=[]', "series.0.length = []: List should have at least 1"),
        ('[[series]]\nsuite="l"\ndtype="fp8"', "series.0.dtype = 'fp8': valid: 'float64'"),
        ('[[series]]\nsuite="l"\nheads=3\nheads_kv=2', "heads 3 is not a multiple of heads_kv 2"),
        ("[[series]\n", "Expected ']]'"),
        ("series = []", "series = []"),
        ("", "key 'series' is missing"),
    ],
)
def test_a_fault_is_named_in_one_line(tmp_path: Path, text: str, words: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ValueError, match=r"mine\.toml") as caught:
        load_grid(path)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_name_lists_the_valid_ones() -> None:
    with pytest.raises(ValueError, match=r"unknown grid 'quik'; valid: .*quick.*smoke"):
        load_grid("quik")


def test_equal_work_has_one_id() -> None:
    point = {"length": 8, "heads": 4, "dim": 64}
    assert make_case(point | {"mask": "causal-bottom-right"}, "cpu") == Case.square(
        8, mask="causal"
    )
    assert make_case(point | {"window": 4, "mask": "full"}, "cpu") == Case.square(8)
    rectangle = make_case(point | {"mask": "causal-bottom-right", "length_key": 9}, "cpu")
    assert rectangle.mask == "causal-bottom-right"


def test_a_slow_backend_can_be_kept_short() -> None:
    grid = load_grid("quick")
    assert not grid.wants("rowwise", Case.square(4096))
    assert grid.wants("naive", Case.square(4096))


def test_quick_is_the_star_that_the_claims_need() -> None:
    cases = {case for _, case in load_grid("quick").cases("cpu")}
    full = {case.length_query for case in cases if case == Case.square(case.length_query)}
    assert full >= {64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096}
    causal = {c.length_query for c in cases if c == Case.square(c.length_query, mask="causal")}
    assert causal >= {64, 128, 256, 512, 1024, 2048, 4096}
    assert {case.heads for case in cases} >= {1, 2, 4, 8}
    assert {case.dtype for case in cases} >= {"float32", "bfloat16", "float16"}
    assert {case.mask for case in cases} >= {"full", "causal", "padding", "causal-padding"}


def test_a_series_may_ask_a_few_backends_alone(tmp_path: Path) -> None:
    works = {"naive": "attention", "tiled": "attention", "layer": "layer"}
    grid = load_grid(
        written(
            tmp_path,
            '[[series]]\nsuite = "length"\nlength = 8\n'
            '[[series]]\nsuite = "length"\nlength = [8, 16]\nbackends = ["tiled"]\n'
            '[[series]]\nsuite = "heads"\nheads = 2\nbackends = ["naive"]\n',
        )
    )
    names = [cell.name for cell in grid.cells("length", works, "cpu")]
    assert names == [
        "naive.fwd-t8-h4-d64-f32-full", "tiled.fwd-t8-h4-d64-f32-full",
        "tiled.fwd-t16-h4-d64-f32-full",
    ]  # fmt: skip
    assert [cell.backend for cell in grid.cells("heads", works, "cpu")] == ["naive"]


def test_a_series_that_asks_an_unknown_backend_is_refused(tmp_path: Path) -> None:
    from harness.run.settings import resolve

    text = '[[series]]\nsuite = "length"\nlength = 8\nbackends = ["naiv"]\n'
    with pytest.raises(ValueError, match="unknown backend 'naiv'; valid: naive"):
        resolve({"grid": written(tmp_path, text), "device": "cpu"})
