"""The one door to measuring, opened as a user would: pytest runs in processes of their own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

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
END = "<<ended with {}>>"
# What one command leaves open until Python ends is no fault of the next one.
ONE_BY_ONE = f"""
import json, sys, pytest
for words in json.loads(sys.argv[1]):
    code = pytest.main([*words, "-p", "no:unraisableexception"])
    print({END!r}.format(int(code)), flush=True)
"""


class Ended(NamedTuple):
    """The exit code and all words of a run that ended before anything was measured."""

    code: int
    text: str


def command(folder: Path, *options: str, grid: str = TINY) -> list[str]:
    folder.mkdir(exist_ok=True)
    (folder / "tiny.toml").write_text(grid)
    return [
        sys.executable, "-m", "pytest", "suites", "--benchmark-only", "-p", "no:cacheprovider",
        "--attn-grid", str(folder / "tiny.toml"), "--attn-device", "cpu",
        "--attn-results", str(folder / "results"), "--attn-reports", str(folder / "reports"),
        *options,
    ]  # fmt: skip


def environment(**more: str) -> dict[str, str]:
    """Return the environment in which the planted backends are found, from any folder."""
    places = (str(ROOT), str(ROOT / "tests" / "support"))
    return os.environ | {"PYTHONPATH": os.pathsep.join(places)} | more


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


def run_one_by_one(*commands: list[str]) -> list[Ended]:
    """Run commands that measure nothing in one process: all but the first start at once."""
    words = json.dumps([one[3:] for one in commands])
    done = subprocess.run(
        [sys.executable, "-c", ONE_BY_ONE, words],
        cwd=ROOT, env=environment(PYTHONUNBUFFERED="1"), timeout=300, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    parts = re.split(re.escape(END).replace(r"\{\}", r"(\d+)"), done.stdout)
    ended = [Ended(int(code), text) for text, code in zip(parts[::2], parts[1::2], strict=False)]
    assert len(ended) == len(commands), done.stdout
    return ended


def folder_of_run(folder: Path) -> Path:
    return folder / "results" / (folder / "results" / "LATEST").read_text().strip()


def lines_written(folder: Path) -> int:
    journals = list((folder / "results").glob("*/journal.jsonl"))
    return journals[0].read_text().count("\n") if journals else 0
