"""A runner of workflows in small: carries out the shell steps of a job with made-up programs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.support import ROOT
from tests.support.workflow_programs import GH, PYTHON

WORKFLOWS = ROOT / ".github" / "workflows"


def job(workflow: str, name: str) -> dict[str, Any]:
    """Return one job of a workflow file."""
    found: dict[str, Any] = yaml.safe_load((WORKFLOWS / workflow).read_text())["jobs"][name]
    return found


@dataclass
class Night:
    """Hold the machine of one night: its folders, its made-up programs, what steps put out."""

    folder: Path
    known: dict[str, str] = field(default_factory=dict)
    fakes: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("work", "bin", "temp", "home", "issues"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        shutil.copytree(ROOT / ".github", self.folder / "work" / ".github", dirs_exist_ok=True)
        for name, text in {"python": PYTHON, "python3": PYTHON, "gh": GH}.items():
            path = self.folder / "bin" / name
            path.write_text(text)
            path.chmod(0o755)
        self.give(markdown="Nothing changed.\n", told={"findings": []})
        (self.folder / "state").write_text("yesterday")

    def give(self, *, markdown: str, told: Any) -> None:
        """Set what the history says tonight."""
        (self.folder / "history.md").write_text(markdown)
        (self.folder / "history.json").write_text(json.dumps(told))

    def calls(self) -> list[str]:
        """Return what the made-up programs were asked, in order."""
        path = self.folder / "calls"
        return path.read_text().splitlines() if path.exists() else []

    def summary(self) -> bytes:
        """Return the step summary."""
        path = self.folder / "summary"
        return path.read_bytes() if path.exists() else b""

    def environment(self) -> dict[str, str]:
        """Return the environment of a step, as GitHub and the made-up programs need it."""
        at = {name: str(self.folder / name) for name in ("calls", "state", "issues", "summary")}
        return {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "REAL": sys.executable,
            "HOME": str(self.folder / "home"), "RUNNER_TEMP": str(self.folder / "temp"),
            "GITHUB_WORKSPACE": str(self.folder / "work"), "CALLS": at["calls"],
            "STATE": at["state"], "ISSUES": at["issues"], "GITHUB_STEP_SUMMARY": at["summary"],
            "FAKE_MARKDOWN": str(self.folder / "history.md"), "LC_ALL": "C.UTF-8",
            "FAKE_JSON": str(self.folder / "history.json"),
        } | self.fakes  # fmt: skip

    def run(self, workflow: str, name: str) -> int:
        """Carry out the shell steps of a job; return 0, or the first exit code that is not."""
        plan, ended = job(workflow, name), 0
        environment = self.environment() | self._filled(plan.get("env", {}))
        for step in plan["steps"]:
            asked = str(step.get("if", ""))
            always = "always()" in asked
            wanted = self._holds(asked.replace("always()", "").strip(" &"))
            if "run" in step and wanted and (always or not ended):
                ended = self._step(step, environment) or ended
        return ended

    def _holds(self, condition: str) -> bool:
        """Say whether a condition of the form `a == 'b'` or `a != 'b'` is true; others are."""
        found = re.fullmatch(r"(\S+) (==|!=) '(.*)'", condition)
        return not found or (self.known.get(found[1], "") == found[3]) == (found[2] == "==")

    def _filled(self, values: dict[str, Any]) -> dict[str, str]:
        """Return values with their expressions filled in; an unknown one is empty, as there."""
        return {
            key: re.sub(r"\$\{\{ (\S+) \}\}", lambda m: self.known.get(m[1], ""), str(value))
            for key, value in values.items()
        }

    def _step(self, step: dict[str, Any], environment: dict[str, str]) -> int:
        """Run one step; take over what it writes to GitHub's files."""
        files = {key: self.folder / f"github_{key}" for key in ("output", "env", "path")}
        for path in files.values():
            path.write_text("")
        told = {f"GITHUB_{key.upper()}": str(path) for key, path in files.items()}
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.folder / "work", capture_output=True, text=True, timeout=60, check=False,
            env=environment | told | self._filled(step.get("env", {})),
        )  # fmt: skip
        with (self.folder / "log").open("a") as log:
            log.write(done.stdout + done.stderr)
        environment |= dict(line.split("=", 1) for line in files["env"].read_text().splitlines())
        for line in files["path"].read_text().splitlines():
            environment["PATH"] = f"{line}:{environment['PATH']}"
        for line in files["output"].read_text().splitlines():
            key, value = line.split("=", 1)
            self.known[f"steps.{step['id']}.outputs.{key}"] = value
        return done.returncode
