"""The one door to measuring, opened as a user would: a real pytest run in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support import ROOT

TINY = """
target = 0.5
cap_s = 0.01
replicas = 1
timeout_s = 20.0
[base]
heads = 2
dim = 8
[[series]]
suite = "length"
length = [16, 32]
mask = ["full", "causal"]
"""


def command(folder: Path, *options: str, grid: str = TINY) -> list[str]:
    (folder / "tiny.toml").write_text(grid)
    return [
        sys.executable, "-m", "pytest", "suites", "--benchmark-only", "-p", "no:cacheprovider",
        "--attn-grid", str(folder / "tiny.toml"), "--attn-device", "cpu",
        "--attn-results", str(folder / "results"), "--attn-reports", str(folder / "reports"),
        *options,
    ]  # fmt: skip


def environment(**more: str) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT / "tests" / "support")} | more


def run(
    folder: Path, *options: str, grid: str = TINY, **more: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(folder, *options, grid=grid),
        cwd=ROOT, env=environment(**more), capture_output=True, text=True, timeout=300,
    )  # fmt: skip


def start(folder: Path, *options: str, grid: str = TINY) -> subprocess.Popen[str]:
    """Start a run and return at once."""
    return subprocess.Popen(
        command(folder, *options, grid=grid),
        cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def folder_of_run(folder: Path) -> Path:
    return folder / "results" / (folder / "results" / "LATEST").read_text().strip()


def lines_written(folder: Path) -> int:
    journals = list((folder / "results").glob("*/journal.jsonl"))
    return journals[0].read_text().count("\n") if journals else 0
