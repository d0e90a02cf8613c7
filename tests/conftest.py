"""One real run for all tests that only read what a run leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.run_suite import run


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder and the words of a run of TINY that went well; copy what is to be changed."""
    folder = tmp_path_factory.mktemp("measured")
    done = run(folder, "--attn-backends", "naive,sdpa,sdpa-cudnn", "--attn-replicas", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder, done.stdout
