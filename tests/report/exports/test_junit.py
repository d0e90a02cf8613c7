"""JUnit XML, held against what the schemas of Jenkins and of Ant both allow."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.records.record import FAILURES, Status
from harness.records.tables import make_table
from harness.report.exports.junit import as_junit
from tests.support.exported_run import HOSTILE, made_run, record
from tests.support.junit_formats import check_junit


@pytest.fixture
def text(tmp_path: Path) -> str:
    return as_junit(made_run(tmp_path / "made"))


def test_it_is_valid_and_has_every_cell(text: str) -> None:
    root = check_junit(text)
    assert [suite.get("name") for suite in root] == ["length", "behaviours"]
    assert root[0].get("tests") == "9", "two that are ok and each other status once"
    assert root[0].get("timestamp") == "2026-11-29T14:32:05", "in UTC, without an offset"


def test_each_status_has_its_outcome(text: str) -> None:
    ended = {}
    for case in check_junit(text)[0].iter("testcase"):
        tag = case[0].tag if len(case) else "passed"
        ended[case[0].get("type") or case[0].get("message") if len(case) else "ok"] = tag
    assert ended == {
        "ok": "passed",
        "disagrees": "failure",
        "crashed": "error",
        "timed_out": "error",
        "error": "error",
        "because out_of_memory": "skipped",
        "because unavailable": "skipped",
        "because unsupported": "skipped",
    }


def test_what_fails_a_run_is_never_skipped_here() -> None:
    from harness.report.exports.rows import OUTCOMES

    assert {status for status, tag in OUTCOMES.items() if tag != "skipped"} == FAILURES
    assert set(OUTCOMES) == set(Status) - {Status.OK}


def test_a_time_is_a_decimal_and_absent_where_there_is_none(text: str) -> None:
    cases = list(check_junit(text)[0].iter("testcase"))
    assert cases[0].get("time") == "0.002000000000"
    assert all(case.get("time") is None for case in cases[2:])


def test_no_text_breaks_the_file(tmp_path: Path) -> None:
    crashed = record("tiled", 128, status="crashed", reason=HOSTILE)
    run = replace(made_run(tmp_path / "made"), table=make_table([crashed]))
    text = as_junit(run)
    (crash,) = check_junit(text)[0].iter("error")
    assert crash.text is not None
    assert ']]> <b a="1">&amp;' in crash.text, "what XML can hold is kept letter by letter"
    assert not set(text) & {"\x00", "\x1b", "\ufffe"}
    text.encode("utf-8")


def test_half_a_character_does_not_break_it_either(tmp_path: Path) -> None:
    run = made_run(tmp_path / "made")
    run.facts["fingerprint"] = "cpu-\ud800\x00\ufffe-made"
    assert check_junit(as_junit(run))[0].get("hostname") == "cpu-\ufffd\ufffd\ufffd-made"


def test_a_behaviour_fails_only_if_its_fault_is_not_known(text: str) -> None:
    cases = {case.get("name"): case for case in check_junit(text)[1].iter("testcase")}
    tags = {name: [child.tag for child in case] for name, case in cases.items()}
    assert tags == {
        "naive.empty-row.float32": ["failure"],
        "naive.nan.float32": ["skipped"],
        "naive.tiny.float32": [],
        "naive.layout.float32": ["skipped"],
    }
    assert cases["naive.empty-row.float32"][0].text == "expected 0, observed nan"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('tests="9"', 'tests="8"'),
        ('time="0.002000000000"', 'time="2e-3"'),
        ("<properties />", ""),
        ('type="disagrees" ', ""),
    ],
)
def test_the_published_rules_can_fail(text: str, old: str, new: str) -> None:
    assert old in text
    with pytest.raises((AssertionError, ValueError)):
        check_junit(text.replace(old, new, 1))
