import json
import subprocess
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from benchmarks import outcome as counting
from benchmarks import peers
from benchmarks import plan as planning
from benchmarks.cells import all_cells, first_cells
from benchmarks.outcome import merged, outcome, reaches
from benchmarks.plan import Plan, mixed, part
from benchmarks.runner import Place, run_child, run_pytest
from benchmarks.session import grid_text
from benchmarks.tools import Tool, tools_for
from harness.analysis.fits.intervals import replica_summary
from harness.cases.grid import load_grid
from harness.measure import rounds
from tests.support import ROOT
from tests.support.peer_rows import found, measured


def fake(needs: dict[str, float], asked: list[dict[str, float]], **fields: Any) -> Tool:
    """

    from tests.support import ROOT
     tool that is precise in a cell once its setting is what the cell needs."""

    def run(place: Place, settings: Any, target: float) -> Any:
        asked.append(dict(settings))
        spreads = {name: 0.001 if settings[name] >= needs[name] else 1.0 for name in settings}
        return [found(name, 1.0, spread=spread) for name, spread in spreads.items()], 1.0

    known = {"knob": "seconds", "first": 1.0, "most": 4.0}
    return Tool(name="fake", states="", run=run, **(known | fields))


@pytest.fixture
def make_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(planning, "run_child", lambda *args, **kwargs: ([], 0.0))

    def make(tool: Tool, cells: list[str], *, budget_s: float = 100.0) -> Plan:
        place = Place(device="cpu", threads=1, folder=tmp_path)
        return Plan(place=place, tools=[tool], cells=cells, target=0.02, budget_s=budget_s,
                    slow_cells=2, tell=lambda text: None)  # fmt: skip

    return make


def test_the_knob_is_doubled_only_where_the_target_is_missed(make_plan: Any) -> None:
    asked: list[dict[str, float]] = []
    tool = fake({"easy": 1.0, "hard": 3.0, "never": 99.0}, asked)
    plan = make_plan(tool, ["easy", "hard", "never"])
    plan.tune(tool)
    assert plan.settings["fake"] == {"easy": 1.0, "hard": 4.0, "never": 4.0}
    assert asked == [
        {"easy": 1.0, "hard": 1.0, "never": 1.0},
        {"hard": 2.0, "never": 2.0},
        {"hard": 4.0, "never": 4.0},
    ]


def test_rounds_run_at_the_settings_found_and_keep_the_reference_between(make_plan: Any) -> None:
    asked: list[dict[str, float]] = []
    plan = make_plan(fake({"one": 2.0}, asked, default=3.0), ["one"])
    plan.measure(2)
    stages = [(row["tool"], row["stage"]) for row in plan.rows]
    assert stages == [
        ("fake", "tune"), ("fake", "tune"), ("reference", "reference"), ("turns", "reference"),
        ("fake", "default"),
        ("fake", "repeat"), ("turns", "reference"), ("reference", "reference"),
        ("fake", "repeat"), ("reference", "reference"), ("turns", "reference"),
    ]  # fmt: skip
    assert asked[2:] == [{"one": 3.0}, {"one": 2.0}, {"one": 2.0}]


def test_a_tool_that_fails_is_asked_once_and_costs_the_others_nothing(make_plan: Any) -> None:
    asked: list[str] = []

    def fail(place: Place, settings: Any, target: float) -> Any:
        asked.append("bad")
        raise ValueError("it hung")

    good = fake({"one": 1.0}, [])
    plan = make_plan(good, ["one"])
    plan.tools.insert(0, Tool(name="bad", states="", run=fail, knob="seconds", first=1.0))
    plan.measure(2)
    assert (asked, plan.failures) == (["bad"], {"bad": "it hung"})
    repeated = [row["tool"] for row in plan.rows if row["stage"] == "repeat"]
    assert repeated == ["fake", "fake"]


def test_no_round_but_the_first_begins_after_the_budget(make_plan: Any) -> None:
    plan = make_plan(fake({"one": 1.0}, []), ["one"], budget_s=1e-9)
    plan.measure(5)
    assert [row["round"] for row in plan.rows if row["stage"] == "repeat"] == [0]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 7, 10, 12])
def test_a_slow_tool_visits_every_cell_in_turn(count: int) -> None:
    cells = [f"cell-{number}" for number in range(count)]
    turns = [name for number in range(count) for name in part(cells, number, size=3)]
    assert set(turns) == set(cells)
    assert max(map(turns.count, cells)) == min(map(turns.count, cells))
    assert sorted(mixed(cells)) == sorted(cells)


def test_a_tool_that_is_slow_to_start_has_few_cells_of_every_kind(make_plan: Any) -> None:
    asked: list[dict[str, float]] = []
    cells = first_cells(12, "cpu")
    tool = fake(dict.fromkeys(cells, 1.0), asked, a_round=1, default=3.0)
    make_plan(tool, cells).measure(2)
    few = [name for settings in asked for name in settings]
    # Tuned on both, one in each round, and the first by default.
    assert few == [cells[0], cells[5], cells[0], cells[5], cells[0]]
    assert asked[-1] == {cells[0]: 3.0}


def test_a_precise_median_takes_five_samples_or_three_slow_ones() -> None:
    def seen(count: int, seconds: float) -> bool:
        made = outcome("x", [[seconds] * count], estimate_s=1, stated_s=None, measure_s=1)
        return reaches(made["pooled"], 0.02)

    assert [seen(4, 0.01), seen(5, 0.01), seen(2, 0.2), seen(3, 0.2)] == [False, True, False, True]


def test_three_processes_state_the_spread_between_them() -> None:
    middles = [1.0, 1.3, 1.1]
    joined = merged([found("x", middle) for middle in middles])
    _, *stated = replica_summary(middles, [(middle, middle) for middle in middles])
    assert joined["estimate_s"] == 1.1
    assert joined["stated_s"] == pytest.approx(stated)
    assert joined["stated_s"][0] <= 1.0
    assert joined["stated_s"][1] >= 1.3
    assert joined["measure_s"] == 3.0


def test_every_tool_has_the_leave_that_the_engine_has() -> None:
    for name in ("MIN_SAMPLES", "MIN_SLOW_SAMPLES", "SLOW_CALL_S"):
        assert getattr(counting, name) == getattr(rounds, name)


def test_the_cells_are_twelve_and_a_short_list_holds_every_backend() -> None:
    assert len(all_cells("cpu")) == 12
    assert [name.split(".")[0] for name in first_cells(3, "cpu")] == [
        "naive",
        "sdpa-flash",
        "tiled",
    ]
    with pytest.raises(ValueError, match="from 1 to 12, not 13"):
        first_cells(13, "cpu")


def test_the_session_asks_for_the_same_cells(tmp_path: Path) -> None:
    names = first_cells(5, "cpu")
    path = tmp_path / "peers.toml"
    path.write_text(grid_text("cpu", dict.fromkeys(names, 0.06), target=0.02))
    grid = load_grid(str(path))
    works = dict.fromkeys(("naive", "sdpa-flash", "tiled"), "attention")
    assert {cell.name for cell in grid.cells("length", works, "cpu")} == set(names)
    assert (grid.target, grid.cap_s, grid.replicas, grid.redo) == (0.02, 0.06, 3, 0)


@pytest.mark.parametrize("tool", ["engine", "torch-adaptive", "reference", "turns"])
def test_a_child_measures_a_real_cell(tool: str, tmp_path: Path) -> None:
    [name] = first_cells(1, "cpu")
    place = Place(device="cpu", threads=1, folder=tmp_path)
    (seen,), wall = run_child(place, tool, settings={name: 0.01}, target=0.5, seed=0)
    assert seen["cell"] == name
    # A call of 3 million operations takes 10 us to 10 ms on anything that runs torch.
    assert 1e-5 < seen["pooled"]["median_s"] < 1e-2
    assert 0 < seen["measure_s"] < wall


def test_pytest_benchmark_measures_apart_from_this_project(tmp_path: Path) -> None:
    [name] = first_cells(1, "cpu")
    place = Place(device="cpu", threads=1, folder=tmp_path)
    (seen,), wall = run_pytest(place, {name: 0.01}, precise=0.5)
    assert 1e-5 < seen["estimate_s"] < 1e-2
    assert seen["stated_s"][0] <= seen["estimate_s"] <= seen["stated_s"][1]
    assert 0 < seen["measure_s"] < wall


def test_a_tool_that_fails_is_named_with_its_last_words(tmp_path: Path) -> None:
    place = Place(device="cpu", threads=1, folder=tmp_path)
    with pytest.raises(ValueError, match=r"benchmarks.child.*KeyError: 'nonsense'"):
        run_child(place, "nonsense", settings={})


@pytest.mark.parametrize(
    ("load", "cores", "said"),
    [(0.9, 2, ""), (1.1, 2, peers.BUSY), (1.1, 8, ""), (4.1, 8, peers.BUSY)],
)
def test_what_was_busy_before_is_more_than_half_the_cores(
    load: float, cores: int, said: str
) -> None:
    assert peers.remark(load, cores) == said


@pytest.mark.parametrize("after", [0.0, 64.0])
def test_the_load_of_the_run_itself_is_not_held_against_it(make_plan: Any, after: float) -> None:
    plan = make_plan(fake({}, []), ["one"])
    known = peers.facts(plan, started=datetime.now(UTC), load=(0.0, after))
    assert (known["remark"], known["load"]) == ("", (0.0, after))
    assert peers.facts(plan, started=datetime.now(UTC), load=(1e4, after))["remark"] == peers.BUSY


def test_the_session_comes_with_the_cap_of_the_grid_quick() -> None:
    [session] = [tool for tool in tools_for("cpu") if tool.name == "session"]
    text = (ROOT / "harness" / "cases" / "grids" / "quick.toml").read_text()
    assert session.default == tomllib.loads(text)["cap_s"]


def test_a_gpu_has_no_run_in_turns_by_the_clock_of_its_device(make_plan: Any) -> None:
    plan = make_plan(fake({}, [], clock="device"), ["one"])
    plan.refer_if(True)
    assert [row["tool"] for row in plan.rows] == ["device-reference"]


def command(*options: str) -> subprocess.CompletedProcess[str]:
    script = str(ROOT / "benchmarks" / "peers.py")
    return subprocess.run([sys.executable, script, *options], capture_output=True, text=True)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--tools", "stopwatch"], "unknown tool 'stopwatch'; valid: engine, session, pytest-"),
        (["--half-width", "2"], "half-width must lie between 0 and 1, not 2"),
    ],
)
def test_a_wrong_option_is_one_line(options: list[str], line: str, tmp_path: Path) -> None:
    paths = ["--out", str(tmp_path / "page.md"), "--raw", str(tmp_path / "raw.json")]
    done = command("--device", "cpu", *options, *paths)
    assert done.returncode == 2
    assert done.stderr.startswith(f"peers: {line}")
    assert not list(tmp_path.iterdir())


def test_the_page_can_be_written_again_from_the_raw_results(tmp_path: Path) -> None:
    raw, out = tmp_path / "raw.json", tmp_path / "docs" / "page.md"
    raw.write_text(json.dumps(measured(tools=("engine",))))  # as before there was `turns`
    done = command("--again", "--raw", str(raw), "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert out.read_text().startswith("# What measuring costs")


def test_a_tool_that_is_not_installed_is_said_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(peers, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"pyperf is missing.*--tools engine,session,pytest-"):
        peers.chosen_tools("", tools_for("cpu"))
    assert [tool.name for tool in peers.chosen_tools("engine", tools_for("cpu"))] == ["engine"]


def test_the_comparing_process_loads_no_torch() -> None:
    code = "import sys, benchmarks.peers; sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
