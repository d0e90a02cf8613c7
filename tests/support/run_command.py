"""The command line, asked as a user would: inside this process, or in one of its own."""

from __future__ import annotations

import io
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from harness.__main__ import main
from tests.support import ROOT
from tests.support.run_suite import environment


@dataclass(frozen=True)
class Answer:
    """Hold what a command left: its exit code, standard output, and standard error."""

    code: int
    out: str
    err: str


def ask(*words: str) -> Answer:
    """Run one command; an exception that leaves it is the traceback that a user would see."""
    out, err = io.StringIO(), io.StringIO()
    code = 0
    argv = patch.object(sys, "argv", ["attnbench", *words])
    with argv, redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as exit:
            code = int(exit.code or 0)
    return Answer(code, out.getvalue(), err.getvalue())


def ask_process(*words: str, folder: Path = ROOT) -> Answer:
    """Run one command in a process of its own, started in this folder."""
    done = subprocess.run(
        [sys.executable, "-m", "harness", *words],
        cwd=folder, env=environment(), capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    return Answer(done.returncode, done.stdout, done.stderr)


def assert_polite(answer: Answer) -> None:
    """Assert success, a finding, or one line that says what is wrong: nothing else."""
    if answer.code == 2:
        assert answer.err.startswith("attnbench: "), answer
        assert answer.err.count("\n") == 1, answer
        assert len(answer.err) < 1000, answer
        assert answer.err[:-1].isprintable(), answer
        assert not answer.out, answer
    else:
        assert answer.code in (0, 1), answer
        assert not answer.err, answer
