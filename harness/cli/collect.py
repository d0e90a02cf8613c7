"""Collect: cells and questions as pytest's tests, each measured once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from harness.cases.grid import Cell
from harness.cli.pytest_run import Wanted, end_on_full_disk
from harness.records.record import REFUSES, Finding, Question, Record, Status
from harness.records.remote.download import from_environment
from harness.run.settings import Settings, resolve

if TYPE_CHECKING:
    from harness.run.progress import Progress
    from harness.run.session import Session


def one_each(metafunc: pytest.Metafunc, questions: list[Question]) -> None:
    """Turn a test into one for each question."""
    metafunc.parametrize("question", questions, ids=[question.name for question in questions])


def parameter(item: pytest.Item, name: str) -> Any:
    """Return what a test is parametrised with under this name, or None."""
    callspec = getattr(item, "callspec", None)
    return callspec.params.get(name) if callspec else None


def question_of(item: pytest.Item) -> Question | None:
    """Return the question that a test asks, or None for any other test."""
    question = parameter(item, "question")
    return question if isinstance(question, Question) else None


def may_ask(item: pytest.Item, unavailable: Mapping[str, str]) -> bool:
    """Whether a test is no question, or one to a backend that is there."""
    question = question_of(item)
    return question is None or question.backend not in unavailable


@pytest.fixture
def conform(
    request: pytest.FixtureRequest, benchmark: Any, question: Question
) -> Callable[[], None]:
    """Return a function that asks the question: fails on a new fault, skips on a refusal.

    It takes `benchmark`, which it does not use, so that `--benchmark-only` does not skip it.
    """

    def run() -> None:
        with end_on_full_disk():
            found = request.config.stash[SESSION].conform(question)
        judge_finding(found)

    return run


def judge_finding(found: Finding) -> None:
    """Fail the test of a fault that is not known; a known one is an expected failure."""
    if found.wrong and found.known:
        pytest.xfail(str(found.reason))
    if found.wrong:
        text = f"{found.backend}.{found.behaviour}: {found.verdict}"
        said = found.observed or found.reason
        pytest.fail(f"{text}: expected {found.expected}, observed {said}", pytrace=False)
    if found.verdict == REFUSES:
        pytest.skip(f"refuses: {found.reason}")


OPTIONS = {
    "grid": ("NAME|FILE.toml", "what to measure (default: quick on a CPU, standard on a GPU)"),
    "device": ("auto|cpu|cuda|cuda:N", "where to measure (default: auto)"),
    "backends": ("A,B", "only these backends (default: all that the grid names)"),
    "baseline": ("NAME", "the backend that ratios compare with (default: naive)"),
    "results": ("DIR|URL", "folder of runs, or e.g. s3://bucket/results (default: results)"),
    "reports": ("DIR", "folder of reports (default: reports)"),
    "replicas": ("N", "worker processes that measure each cell (default: the grid's)"),
    "precision": ("X", "relative half-width at which timing stops, e.g. 0.02"),
    "timeout": ("S", "seconds after which a call counts as hung"),
    "memory-limit": ("GIB", "refuse cells that would need more (default: what is free)"),
    "require": ("A,B", "fail if one of these backends is unavailable"),
    "resume": ("RUN", "go on with a run that was cut (latest: the newest)"),
    "confirm": ("RUN", "measure again what looks slower in a run, in fresh processes"),
    "pool": ("local|inline", "worker processes, or this process for debugging"),
}


SESSION: pytest.StashKey[Session] = pytest.StashKey()


PROGRESS: pytest.StashKey[Progress] = pytest.StashKey()


JSON = pytest.StashKey[Wanted]()


SETTINGS = pytest.StashKey[Settings]()


HANDLERS = pytest.StashKey[dict[int, Any]]()


def option(config: pytest.Config, name: str) -> Any:
    """Return an option, else its environment variable, else pyproject's, else None."""
    value = config.getoption(f"attn_{name}")
    if value is None and name in ("results", "device", "grid"):
        value = from_environment(name)
    if value is None and name in ("grid", "device", "backends", "results"):
        value = config.getini(f"attn_{name}") or None
    return value


def settings_of(config: pytest.Config) -> Settings:
    """Resolve the settings once; UsageError in one line if one is wrong."""
    if SETTINGS not in config.stash:
        names = [name.replace("-", "_") for name in (*OPTIONS, "extra_backend")]
        try:
            config.stash[SETTINGS] = resolve({name: option(config, name) for name in names})
        except ValueError as error:
            raise pytest.UsageError(str(error)) from None
    return config.stash[SETTINGS]


def unlooked(config: pytest.Config, items: list[pytest.Item]) -> list[pytest.Item]:
    """Take what a second look need not measure out of the items, and return it."""
    look = settings_of(config).look if config.getoption("attn_confirm") else None
    if look is None:
        return []
    wanted = [(item, cell_of(item)) for item in items]
    items[:] = [item for item, cell in wanted if cell is not None and cell.name in look.cells]
    return [item for item, cell in wanted if cell is None or cell.name not in look.cells]


def cell_of(item: pytest.Item) -> Cell | None:
    """Return the cell that a test measures, or None for any other test."""
    cell = parameter(item, "cell")
    return cell if isinstance(cell, Cell) else None


def judge(record: Record, required: tuple[str, ...]) -> None:
    """Fail or skip the test of a cell that has no time to show."""
    missing = record.status == Status.UNAVAILABLE and record.backend in required
    if record.failed or missing:
        pytest.fail(f"{record.cell}: {record.status}: {record.reason}", pytrace=False)
    if record.status != Status.OK:
        pytest.skip(f"{record.status}: {record.reason}")
