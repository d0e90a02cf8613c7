"""Fuzz: whatever lies in a grid file or a run folder, a user sees an answer or one line."""

from __future__ import annotations

import csv
import json
import math
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.cases.case import Case
from harness.cases.grid import CASES_MOST, load_grid
from tests.support import damaged_runs as damage
from tests.support import made_runs as runs
from tests.support.run_command import ask, assert_polite

FILES = (
    "run.json", "journal.jsonl", "cells.csv", "cells.parquet", "samples.parquet", "conformance.csv"
)  # fmt: skip
COMMANDS = st.sampled_from(["show", "claims", "report"])
FINDINGS = """\
backend,behaviour,device,dtype,expected,observed,verdict,reason
naive,nan-row,cpu,float32,NaN,NaN,conforms,
sdpa,nan-row,cpu,float32,NaN,0,deviates,known: a fault
tiled,strides,cpu,float32,,,refuses,no strides
"""


def fuzzed(examples: int) -> settings:
    """The same examples in every run, and no time limit on any: machines differ."""
    return settings(
        max_examples=examples, derandomize=True, database=None, deadline=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip


def write_made(folder: Path) -> Path:
    """Write a small run with every kind of file and outcome."""
    square = [Case.square(length) for length in (64, 128, 256, 512, 1024)]
    kinds = (
        {"heads": 2}, {"mask": "causal"}, {"dtype": "bfloat16"}, {"phase": "backward"},
        {"mask": "sliding-window"},
    )  # fmt: skip
    square += [Case.square(512, **kind) for kind in kinds]  # type: ignore[arg-type]
    names = ("naive", "tiled", "sdpa", "flash-attn")
    cells = [runs.cell(name, "length", case, "made") for case in square for name in names]
    runs.write_run(folder, cells=cells)
    (folder / "conformance.csv").write_text(FINDINGS)
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A small run; figures are left out, since drawing them takes far longer than the rest."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("time", "memory", "throughput", "ratio", "dots", "sweep", "noise"):
            patch.setattr(f"harness.report.figures.{name}_figure", lambda *_, **__: None)
        yield write_made(tmp_path_factory.mktemp("results") / "made")


def assert_copes(made: Path, command: str, spoil: damage.Damage) -> int:
    """Spoil a copy of the run and ask a command about it; return the exit code."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "results" / "made"
        shutil.copytree(made, folder)
        spoil(folder)
        words = ["--reports", f"{place}/reports"] if command == "report" else []
        answer = ask(command, "made", "--results", f"{place}/results", *words)
        assert_polite(answer)
        assert sorted(path.name for path in Path(place).iterdir()) in (
            ["results"], ["reports", "results"],
        )  # fmt: skip
        return answer.code


@pytest.mark.parametrize("command", ["show", "claims", "report"])
def test_a_whole_run_is_answered(made: Path, command: str) -> None:
    assert assert_copes(made, command, lambda folder: None) in (0, 1)


@fuzzed(30)
@given(spoil=damage.spoilt_bytes(FILES), command=COMMANDS)
def test_spoilt_bytes_never_give_a_traceback(
    made: Path, spoil: damage.Damage, command: str
) -> None:
    assert_copes(made, command, spoil)


@fuzzed(30)
@given(data=st.data(), command=COMMANDS)
def test_spoilt_facts_never_give_a_traceback(
    made: Path, data: st.DataObject, command: str
) -> None:
    facts = json.loads((made / "run.json").read_text())
    assert_copes(made, command, data.draw(damage.spoilt_facts(facts)))


@fuzzed(60)
@given(data=st.data(), command=COMMANDS)
def test_a_spoilt_journal_never_gives_a_traceback(
    made: Path, data: st.DataObject, command: str
) -> None:
    assert_copes(made, command, data.draw(damage.spoilt_journal(journal(made))))


@fuzzed(30)
@given(data=st.data(), command=COMMANDS)
def test_odd_values_that_the_schema_allows_are_reported(
    made: Path, data: st.DataObject, command: str
) -> None:
    assert_copes(made, command, data.draw(damage.stretched_records(journal(made))))


@pytest.mark.parametrize("name", ["cells.csv", "conformance.csv"])
@fuzzed(30)
@given(data=st.data(), command=COMMANDS)
def test_a_spoilt_table_never_gives_a_traceback(
    made: Path, name: str, data: st.DataObject, command: str
) -> None:
    rows = list(csv.reader((made / name).read_text().splitlines()))
    assert_copes(made, command, data.draw(damage.spoilt_table(name, rows)))


def journal(made: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (made / "journal.jsonl").read_text().splitlines()]


GRID: dict[str, Any] = {
    "description": "mine", "target": 0.05, "replicas": 3, "longest": {"rowwise": 1024},
    "base": {"heads": 8, "dim": [64, 128], "dtype": "bfloat16"},
    "series": [
        {"suite": "length", "mask": ["full", "causal"], "length": [256, 512], "batch": 2},
        {"suite": "works", "work": "layer", "backends": ["layer-sdpa"], "heads_kv": 8},
    ],
}  # fmt: skip


def toml(value: Any) -> str:
    """Write a value as TOML has it, which lacks null; a nest without floor is one as well."""
    if isinstance(value, dict):
        pairs = (f"{json.dumps(str(key))} = {toml(item)}" for key, item in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    return damage.dump("" if value is None else value)


@st.composite
def spoilt_grids(draw: st.DrawFn) -> bytes:
    """A grid with odd values, odd keys, or bytes that are no TOML."""
    grid = GRID
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.sampled_from(sorted(damage.places(grid), key=str)))
        grid = damage.put(grid, place[:-1] or place, draw(damage.odd)) if place else grid
        if not isinstance(grid, dict):
            break
    grid = grid | {draw(st.sampled_from(damage.HOSTILE)): 1} if draw(st.booleans()) else grid
    lines = (f"{json.dumps(key)} = {toml(value)}" for key, value in grid.items())
    whole = "\n".join(lines).encode("utf-8", "surrogatepass")
    at = draw(st.integers(0, len(whole)))
    return whole[:at] + draw(st.binary(max_size=3)) + whole[at:]


def refusal(path: Path) -> str:
    """Load a grid and list its cells; return why it was refused, or nothing."""
    why = ""
    try:
        grid = load_grid(str(path))
    except ValueError as error:
        why = str(error)
    if why:
        assert why.isprintable()
        assert len(why) < 700
        assert str(path) in why
        return why
    for suite in {series.suite for series in grid.series}:
        grid.cells(suite, {"naive": "attention", "layer-sdpa": "layer"}, "cpu")
    return ""


@fuzzed(200)
@given(content=spoilt_grids())
def test_a_spoilt_grid_is_refused_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "mine.toml"
    path.write_bytes(content)
    refusal(path)


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        ({"length": list(range(1, 1001)), "heads": list(range(1, 1001)),
          "dim": list(range(1, 1001))}, f"1e+09 cases; a grid has at most {CASES_MOST:,}"),
        ({"length": 2**30, "heads": 65535, "batch": 65535}, "more than tables hold"),
        ({"length": 2**31}, "series.0.length = 2147483648: must be less than or equal to"),
        ({"batch": 10**400}, "series.0.batch = "),
    ],
)  # fmt: skip
def test_a_grid_without_end_is_refused_at_once(
    tmp_path: Path, axes: dict[str, Any], words: str
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f"series = [{toml({'suite': 'length'} | axes)}]")
    began = time.process_time()
    assert words in refusal(path)
    assert time.process_time() - began < 2  # 0.01 s measured; expanding 10^9 cases takes hours


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("target = inf", "target = inf: must be a finite number"),
        ("target = nan", "target = nan: must be"),
        ('"a[b" = 1', "unknown key 'a[b'; valid: name, description"),
        ('"two\\nlines" = 1', "unknown key 'two lines'; valid"),
        ("[longest]\nint = -1", "longest.int = -1: must be greater than 0"),
        ("base = 3", "base = 3: must be a table of names and values"),
        ("x = " + "[" * 5000 + "]" * 5000, "it is nested too deep"),
        ("timeout_s = 1e300", "timeout_s = 1e+300: must be less than or equal to"),
        ("x = " + "9" * 5000, "Exceeds the limit"),
    ],
)
def test_odd_grids_are_named_in_one_line(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "mine.toml"
    head = "series = [{suite = 'length'}]\n" if "longest" not in text else ""
    tail = "\n[[series]]\nsuite = 'length'\n" if "longest" in text else ""
    path.write_text(f"{head}{text}\n{tail}")
    assert words in refusal(path)


def test_a_path_that_is_no_file_is_an_unknown_grid(tmp_path: Path) -> None:
    (tmp_path / "folder.toml").mkdir()
    for name in (str(tmp_path / "folder.toml"), "x" * 5000, "\x00", "a\nb.toml", ""):
        with pytest.raises(ValueError, match="unknown grid") as caught:
            load_grid(name)
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 300
