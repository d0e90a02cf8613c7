"""The nightly workflow: its shell steps carried out with made-up programs."""

from pathlib import Path

import pytest

from tests.support.workflow_nights import night, tell, told
from tests.support.workflow_runner import Night

KIB = 1024


def asked(one: Night) -> list[str]:
    """Return the subjects of what was asked, in order."""
    words = ("-m venv", "-m pip", "doctor", "--attn-confirm", "--attn-grid", "history", "export",
             "site")  # fmt: skip
    found = [next((word for word in words if word in call), "") for call in one.calls()]
    return list(dict.fromkeys(word for word in found if word))


def test_a_quiet_night_goes_through_all_steps_in_order(tmp_path: Path) -> None:
    one = night(tmp_path)
    assert one.run("measure.yml", "measure") == 0
    measured = ["-m venv", "-m pip", "doctor", "--attn-grid", "--attn-confirm"]
    assert asked(one) == [*measured, "history", "export", "site"]
    assert one.known["steps.measure.outputs.run"] == "tonight"
    assert one.known["steps.judge.outputs.finding"] == "false"
    (confirm,) = [call for call in one.calls() if "--attn-confirm" in call]
    assert "--attn-confirm tonight" in confirm
    judged = [call for call in one.calls() if "harness history" in call]
    assert ["--run tonight" in call for call in judged] == [True, True]
    summary = one.summary().decode()
    assert summary.index("Nothing changed.") < summary.index("load: fine")
    assert not any(call.startswith("gh ") for call in one.calls())


def test_every_format_is_exported(tmp_path: Path) -> None:
    one = night(tmp_path)
    one.run("measure.yml", "measure")
    forms = [call.split("--format ")[1].split()[0] for call in one.calls() if "--format" in call]
    assert forms == ["junit", "json", "gha-benchmark", "bencher"]


@pytest.mark.parametrize(
    ("fakes", "code"),
    [
        ({}, 0),
        ({"FAKE_MEASURE": "1"}, 1),
        ({"FAKE_MEASURE": "4"}, 4),
        ({"FAKE_NO_RUN": "1"}, 1),
        ({"FAKE_CONFIRM": "1"}, 0),
        ({"FAKE_CONFIRM": "5"}, 0),
        ({"FAKE_CONFIRM": "4"}, 4),
        ({"FAKE_HISTORY": "1"}, 1),
        ({"FAKE_HISTORY": "2"}, 2),
        ({"FAKE_DOCTOR": "1"}, 0),
        ({"FAKE_DOCTOR": "2"}, 2),
    ],
)
def test_the_exit_code_says_what_came_of_the_night(
    tmp_path: Path, fakes: dict[str, str], code: int
) -> None:
    assert night(tmp_path, **fakes).run("measure.yml", "measure") == code


def test_wrong_answers_do_not_hide_what_was_measured(tmp_path: Path) -> None:
    one = night(tmp_path, FAKE_MEASURE="1")
    assert one.run("measure.yml", "measure") == 1
    assert asked(one)[-3:] == ["history", "export", "site"]
    assert "::error title=Wrong answers::" in (tmp_path / "log").read_text()


def test_a_strict_doctor_ends_the_night_before_measuring(tmp_path: Path) -> None:
    one = night(tmp_path, FAKE_DOCTOR="1")
    one.known["inputs.strict"] = "true"
    assert one.run("measure.yml", "measure") == 1
    assert "--attn-grid" not in asked(one)
    assert b"load: fine" in one.summary()


def test_results_of_ones_own_machine_outlive_the_checkout(tmp_path: Path) -> None:
    one = night(tmp_path)
    one.known["inputs.cached"] = "false"
    one.run("measure.yml", "measure")
    at = f"--attn-results {tmp_path / 'home'}/attention-bench/results"
    assert any(at in call for call in one.calls())
    one.known["vars.ATTN_RESULTS"] = "s3://bucket/nights"
    one.run("measure.yml", "measure")
    assert any("--attn-results s3://bucket/nights" in call for call in one.calls())


def test_a_long_history_is_cut_below_the_limits(tmp_path: Path) -> None:
    one = night(tmp_path, FAKE_HISTORY="1")
    line = "| µ slower ![a picture](figures/x.png) |\n"
    one.give(markdown="```text\n" + line * 80_000, told=told())
    one.run("measure.yml", "measure")
    tell(one)
    summary = one.summary()
    assert 850 * KIB < len(summary) <= 900 * KIB
    assert "![" not in summary.decode("utf-8"), "no images, and no character cut in half"
    assert summary.count(b"```") == 2, "a block that was cut is closed"
    assert summary.decode().rstrip().endswith("_")
    body = (tmp_path / "issues" / "1.open").read_bytes()
    assert 50_000 < len(body) <= 65_536
