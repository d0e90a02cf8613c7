"""What the nightly workflow says on GitHub: one issue, once for each set of findings."""

from pathlib import Path

import pytest

from tests.support.workflow_nights import FINDING, night, tell, told


def test_a_confirmed_regression_ends_in_one_issue_and_exit_code_1(tmp_path: Path) -> None:
    one = night(tmp_path, FAKE_HISTORY="1")
    one.give(markdown="## 1 regression\n", told=told())
    assert one.run("measure.yml", "measure") == 1
    assert one.known["steps.judge.outputs.finding"] == "true"
    assert b"## 1 regression" in one.summary(), "the summary is written all the same"
    assert tell(one) == 0
    (issue,) = (tmp_path / "issues").iterdir()
    text = issue.read_text()
    assert text.startswith("Attention benchmarks: confirmed regression on cpu\n")
    assert "## 1 regression" in text
    assert "Run tonight" in text


def test_the_same_regression_is_said_once(tmp_path: Path) -> None:
    one = night(tmp_path, FAKE_HISTORY="1")
    for share in (0.12, 0.13):
        one.give(markdown="## 1 regression\n", told=told(change=share))
        (tmp_path / "state").write_text("yesterday")
        one.run("measure.yml", "measure")
        assert tell(one) == 0
    assert len(list((tmp_path / "issues").iterdir())) == 1
    assert not [call for call in one.calls() if call.startswith("gh issue comment")]


def test_another_regression_becomes_a_comment_on_the_open_issue(tmp_path: Path) -> None:
    one = night(tmp_path, FAKE_HISTORY="1")
    for cell in ("naive.a", "tiled.b"):
        one.give(markdown=f"## {cell}\n", told=told(cell=cell))
        (tmp_path / "state").write_text("yesterday")
        one.run("measure.yml", "measure")
        assert tell(one) == 0
    (issue,) = (tmp_path / "issues").iterdir()
    assert "## naive.a" in issue.read_text()
    assert "## tiled.b" in issue.read_text()


@pytest.mark.parametrize(("cell", "number"), [(FINDING["cell"], 1), ("new", 2)])
def test_a_closed_issue_is_not_opened_again_for_what_it_said(
    tmp_path: Path, cell: str, number: int
) -> None:
    one = night(tmp_path, FAKE_HISTORY="1")
    one.give(markdown="slow\n", told=told())
    one.run("measure.yml", "measure")
    tell(one)
    (tmp_path / "issues" / "1.open").rename(tmp_path / "issues" / "1.closed")
    one.give(markdown="slow\n", told=told(cell=cell))
    (tmp_path / "state").write_text("yesterday")
    one.run("measure.yml", "measure")
    assert tell(one) == 0
    assert len(list((tmp_path / "issues").iterdir())) == number


def test_an_issue_of_another_machine_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "issues").mkdir()
    other = tmp_path / "issues" / "1.open"
    other.write_text("Attention benchmarks: confirmed regression on cpu2\n")
    one = night(tmp_path, FAKE_HISTORY="1")
    one.give(markdown="slow\n", told=told())
    one.run("measure.yml", "measure")
    tell(one)
    assert other.read_text().count("\n") == 1
    assert (tmp_path / "issues" / "2.open").exists()


def test_without_a_token_nothing_is_said_and_the_step_fails(tmp_path: Path) -> None:
    one = night(tmp_path, FAKE_HISTORY="1")
    one.run("measure.yml", "measure")
    one.known |= {"github.repository": "me/attention", "needs.measure.outputs.run": "tonight"}
    assert one.run("measure.yml", "tell") != 0
    assert not any(call.startswith("gh ") for call in one.calls())
