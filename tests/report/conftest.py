"""One made-up run of every kind of outcome, what is concluded from it, and its report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.records.store import Run
from harness.report.markdown import write_report
from harness.report.view import View, make_view
from tests.support.fixed_views import stub_view
from tests.support.made_runs import write_run


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return write_run(tmp_path_factory.mktemp("results") / "made")


@pytest.fixture(scope="session")
def judged(made: Run) -> View:
    return make_view(made)


@pytest.fixture(scope="session")
def report(judged: View, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the whole report, as it is written after a run."""
    return write_report(judged, tmp_path_factory.mktemp("reports")).parent


@pytest.fixture(scope="module")
def view(made: Run) -> Iterator[View]:
    """The run with fixed claims, which hold while the tests of one file run."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        yield stub_view(made, monkeypatch)
