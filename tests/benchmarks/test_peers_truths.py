import re
from typing import Any

import pytest

from benchmarks.page import page
from benchmarks.truth import references, truths
from benchmarks.truth_tables import stated_table, turns_table
from benchmarks.verdict import coverage_sentence
from tests.support.peer_rows import found, long_run, measured, row

BOTH = ("engine", "peer")


def apart(tool: str, times: float, *, spread: float = 0.02) -> Any:
    """A run of a tool that sees both cells so many times as long as they take when hot."""
    return row(tool, *(found(cell, times * truth, spread=spread) for cell, truth in TRUTH.items()))


TRUTH = {"one": 1.0, "two": 2.0}


def line(text: str, name: str) -> list[str]:
    """The fields of a tool's row in the first table of a text that has one."""
    [first, *_] = [one for one in text.splitlines() if one.startswith(f"| {name} |")]
    return [field.strip() for field in first.strip("|").split("|")]


def test_a_bias_of_5_percent_shows_against_hot_and_not_against_turns() -> None:
    data = measured(apart("engine", 1.05), apart("peer", 1.0), tools=BOTH, turns=1.05)
    true = truths(data)
    engine, peer = true.loc["engine"], true.loc["peer"]
    assert engine["hot_bias"] == pytest.approx(0.05)
    assert engine["turns_bias"] == pytest.approx(0.0, abs=1e-9)
    assert (engine["hot_stated_held"], engine["turns_stated_held"]) == (0, 2)
    assert peer["hot_bias"] == pytest.approx(0.0, abs=1e-9)
    assert peer["turns_bias"] == pytest.approx(1 / 1.05 - 1)
    assert (peer["hot_stated_held"], peer["turns_stated_held"]) == (2, 0)
    assert (peer["hot_median_held"], peer["turns_median_held"]) == (2, 0)


def test_a_bias_of_the_engine_shows_against_turns_too() -> None:
    data = measured(apart("engine", 1.05 * 0.95), tools=BOTH, turns=1.05)
    engine = truths(data).loc["engine"]
    assert engine["turns_bias"] == pytest.approx(-0.05)
    assert engine["turns_error"] == pytest.approx(0.05)
    assert engine["turns_error_90"] == pytest.approx(0.05)
    assert engine["turns_stated_held"] == 0


def test_the_page_sets_in_bold_what_each_tool_claims() -> None:
    data = measured(apart("engine", 1.05), apart("peer", 1.0), tools=BOTH, turns=1.05)
    shown = stated_table(truths(data), data)
    *_, hot, turns, off_hot, off_turns = line(shown, "engine")
    assert (hot, turns) == ("**0/2 \\[0%, 84%\\]**", "2/2 \\[16%, 100%\\]")
    assert (off_hot, off_turns) == ("**+5.0%; 5.0%, 5.0%**", "+0.0%; 0.0%, 0.0%")
    *_, hot, turns, off_hot, off_turns = line(shown, "peer")
    assert (hot, turns) == ("**2/2 \\[16%, 100%\\]**", "0/2 \\[0%, 84%\\]")
    assert (off_hot, off_turns) == ("**+0.0%; 0.0%, 0.0%**", "-4.8%; 4.8%, 4.8%")


def test_an_engine_that_times_cold_calls_misses_the_target() -> None:
    data = measured(apart("engine", 1.05), apart("peer", 1.0), tools=BOTH, turns=1.05)
    said = coverage_sentence(truths(data))
    assert "0% hot (in turns: 100%) at ±1.0% against 100% hot (in turns: 0%) at ±1.0%" in said
    assert "**missed**" in said


def test_an_engine_that_times_hot_calls_meets_it() -> None:
    data = measured(apart("engine", 1.0), apart("peer", 1.0), tools=BOTH, turns=1.05)
    said = coverage_sentence(truths(data))
    assert "100% hot (in turns: 0%) at ±1.0%" in said
    assert "of peer; target, the best: **met**." in said


def test_by_the_clock_of_a_device_there_is_one_truth() -> None:
    data = measured(apart("engine", 3.0), tools=("engine",), turns=1.05)
    data["tools"]["engine"]["clock"] = "device"
    data["rows"] += long_run("device-reference", times=3.0)
    assert references(data, "hot", "device")["two"][0] == pytest.approx(6.0)
    assert references(data, "turns", "device") == {}
    engine = truths(data).loc["engine"]
    assert (engine["hot_stated_held"], engine["turns_stated_of"]) == (2, 0)


def test_old_results_without_turns_still_make_a_page() -> None:
    text = page(measured(apart("engine", 1.0), apart("peer", 1.0), tools=BOTH))
    _, _, _, hot, turns, _, off = line(text[text.index("## How often") :], "engine")
    assert (hot, turns, off) == ("**2/2 \\[16%, 100%\\]**", "-", "-")
    assert "Not measured.\n\nBoth come from" in text
    assert "nan" not in text


def test_turns_are_shown_as_multiples_of_hot_by_length_paired_by_process() -> None:
    def process(tool: str, times: float) -> Any:
        cells = {"naive.fwd-t64-h4": 1e-4, "tiled.fwd-t64-h4": 2e-4, "tiled.fwd-t1024-h4": 1e-2}
        slower = {"naive.fwd-t64-h4": 1.02, "tiled.fwd-t64-h4": 1.06}
        seen = [
            found(name, times * hot * (slower.get(name, 1.0) if tool == "turns" else 1.0))
            for name, hot in cells.items()
        ]
        return row(tool, *seen, stage="reference")

    data = measured(tools=())
    # A machine that gets twice as slow between two pairs changes no ratio.
    data["rows"] = [
        process(tool, times) for times in (1.0, 2.0, 2.0) for tool in ("reference", "turns")
    ]
    lines = turns_table(data).splitlines()
    assert lines[0] == "| T | naive | tiled | median |"
    assert lines[2] == (
        "| 64 | 1.020 \\[1.020, 1.020\\] | 1.060 \\[1.060, 1.060\\] | 1.040 |"
    )  # fmt: skip
    assert lines[3] == "| 1024 | - | 1.000 \\[1.000, 1.000\\] | 1.000 |"


def test_few_processes_of_either_truth_are_warned_of() -> None:
    data = measured(tools=(), turns=1.05)
    many = [drift / 1000 for drift in range(12)]
    data["rows"] = [*long_run("reference", drifts=many), *long_run("turns", drifts=many[:4])]
    assert "Only 4 processes gave the truth." in page(data)
    data["rows"] = [*long_run("reference", drifts=many), *long_run("turns", drifts=many)]
    text = page(data)
    assert "processes gave the truth" not in text
    assert re.search(r"12 processes hot \(own 95 % interval ±\d.\d%.*12 processes in turns", text)
