"""The pytest door: options, cells as tests, and the life of a run. Never loads torch."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Generator
from typing import IO, Any

import pytest

from harness.cases.grid import Cell
from harness.cli.collect import (
    HANDLERS,
    JSON,
    OPTIONS,
    PROGRESS,
    SESSION,
    cell_of,
    judge,
    may_ask,
    one_each,
    question_of,
    settings_of,
    unlooked,
)
from harness.cli.collect import conform as conform
from harness.cli.pytest_run import (
    ReplayClock,
    Wanted,
    end_as_after_ctrl_c,
    end_on_full_disk,
    replay,
    said_once,
    without_nan,
)
from harness.records.record import Question


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the group "attention"."""
    group = parser.getgroup("attention", "attention benchmark")
    for name, (value, text) in OPTIONS.items():
        group.addoption(f"--attn-{name}", metavar=value, help=text)
    group.addoption(
        "--attn-extra-backend",
        metavar="MODULE:ATTR",
        action="append",
        help="also measure a backend of your own, e.g. f(query, key, value, mask, scale)",
    )
    for name in ("grid", "device", "backends", "results"):
        parser.addini(f"attn_{name}", f"default of --attn-{name}")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker and let pytest-benchmark make its file without printing its table."""
    config.addinivalue_line("markers", "cells(suite): measure the grid's cells of this suite")
    config.addinivalue_line("markers", "behaviours: ask every behaviour of every backend")
    # A cell without a time has no rounds to replay; pytest-benchmark warns of each.
    config.addinivalue_line("filterwarnings", "ignore:Benchmark fixture was not used at all")
    if config.getoption("benchmark_only", False):
        config.option.benchmark_quiet = True
        if not config.getoption("benchmark_json"):
            config.stash[JSON] = config.option.benchmark_json = Wanted()


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Check the settings before collecting, so that a wrong one is one line and exit code 4."""
    if session.config.getoption("benchmark_only", False):
        settings_of(session.config)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Turn a test marked `cells(suite)` into one per cell, `behaviours` into one per question."""
    if metafunc.definition.get_closest_marker("behaviours"):
        one_each(metafunc, settings_of(metafunc.config).questions())
    marker = metafunc.definition.get_closest_marker("cells")
    if marker is None:
        return
    settings = settings_of(metafunc.config)
    cells = settings.grid.cells(marker.args[0], settings.works(), settings.device)
    metafunc.parametrize("cell", cells, ids=[cell.name for cell in cells])


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Measure a cell once though two suites ask for it, and keep the cells of a case together.

    What is exact comes before what is timed. A suite of which the grid has no cell is left out.
    """
    kept: dict[Any, list[pytest.Item]] = {Question: []}
    seen, again = set(), []
    for item in items:
        cell = cell_of(item)
        empty = cell is None and item.get_closest_marker("cells") is not None
        if empty or (cell is not None and cell.name in seen):
            again.append(item)
            continue
        if cell is not None:
            seen.add(cell.name)
            item.add_marker(pytest.mark.benchmark(timer=ReplayClock()))
        group = cell.case if cell else Question if question_of(item) else "others"
        kept.setdefault(group, []).append(item)
    items[:] = [item for group in kept.values() for item in group]
    again += unlooked(config, items)
    if again:
        config.hook.pytest_deselected(items=again)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave no worker behind, however pytest ended."""
    for number, handler in config.stash.get(HANDLERS, {}).items():
        signal.signal(number, handler)
    run = config.stash.get(SESSION, None)
    if run is not None and run.pool is not None:
        run.pool.close()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Start the run once it is known which cells are left; a wrong folder ends it here.

    Backends that turn out to be unavailable are asked no questions.
    """
    config = session.config
    cells = [cell for cell in map(cell_of, session.items) if cell is not None]
    asked = [question for question in map(question_of, session.items) if question is not None]
    if not (cells or asked) or config.getoption("collectonly"):
        return
    if config.getoption("dist", "no") != "no":
        raise pytest.UsageError("timing under pytest-xdist means nothing: run without -n")
    from harness.run.progress import Progress
    from harness.run.session import Session

    config.stash[HANDLERS] = end_as_after_ctrl_c()
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    quieten(reporter)
    progress = config.stash[PROGRESS] = Progress(real_output(config))
    try:
        config.stash[SESSION] = run = Session(
            settings_of(config), cells, progress.advance, questions=asked
        )
        progress.say(f"{len(cells)} cells, results in {run.folder}")
        run.start()
    except (ValueError, OSError) as error:
        raise pytest.UsageError(str(error)) from None
    session.items[:] = [item for item in session.items if may_ask(item, run.unavailable)]
    progress.start(run.steps())


def real_output(config: pytest.Config) -> IO[str]:
    """Return standard output as it is outside pytest's capture: tests are measured inside it."""
    capture: Any = config.pluginmanager.get_plugin("capturemanager")
    with capture.global_and_fixture_disabled():
        return os.fdopen(os.dup(1), "w", encoding="utf-8", errors="replace")


def quieten(reporter: Any) -> None:
    """Stop pytest from writing file names and percentages into the progress bar."""
    if reporter.config.option.verbose <= 0:
        reporter.showfspath = False
        reporter._show_progress_info = False


@pytest.fixture
def measure(request: pytest.FixtureRequest, benchmark: Any, cell: Cell) -> Callable[[], None]:
    """Return a function that measures the cell: fails on a wrong answer, skips on an outcome.

    Out of memory, unavailable and unsupported are outcomes; a cell that disagrees, crashes,
    hangs or raises is a failure.
    """
    config = request.config
    clock = request.node.get_closest_marker("benchmark").kwargs["timer"]

    def run() -> None:
        with end_on_full_disk():
            config.stash[SESSION].run_passes()
            record, samples = config.stash[SESSION].outcome(cell)
        judge(record, settings_of(config).required)
        if JSON in config.stash:
            config.stash[JSON].something = True
        benchmark.group = cell.case.id
        benchmark.extra_info.update(cell=record.cell, backend=record.backend)
        replay(benchmark, clock, [seconds for replica in samples for seconds in replica])

    return run


def pytest_benchmark_update_json(config: pytest.Config, output_json: dict[str, Any]) -> None:
    """Keep pytest-benchmark's file valid JSON: no bare NaN; put it beside the tables."""
    from pytest_benchmark.utils import safe_dumps

    from harness.records.writer import write_text

    output_json.update(without_nan(output_json))
    run = config.stash.get(SESSION, None)
    if run is not None and JSON in config.stash:
        with said_once(said_by(config), "benchmark.json"):
            text = safe_dumps(output_json, indent=1)  # type: ignore[no-untyped-call]
            write_text(run.folder / "benchmark.json", f"{text}\n")


def pytest_report_teststatus(
    report: pytest.TestReport, config: pytest.Config
) -> tuple[str, str, str] | None:
    """Print no letter per cell: the progress bar tells more."""
    if SESSION not in config.stash or config.option.verbose > 0 or report.when == "teardown":
        return None
    if report.skipped or (report.passed and report.when == "call"):
        return report.outcome, "", ""
    return None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None]:
    """End the workers and write the tables, also after Ctrl-C."""
    run = session.config.stash.get(SESSION, None)
    if run is None and session.config.getoption("attn_confirm"):
        calm_end(session)
    if run is not None:
        session.config.stash[PROGRESS].stop()
        with said_once(said_by(session.config), "results"):
            run.finish()
    return (yield)


def calm_end(session: pytest.Session) -> None:
    """Say that a run needs no second look: pytest calls a run without tests a failure."""
    if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK
        said_by(session.config)(
            f"nothing to confirm in {session.config.getoption('attn_confirm')}"
        )


def said_by(config: pytest.Config) -> Callable[[str], object]:
    """Return what prints a line under the progress bar."""
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    return reporter.write_line  # type: ignore[no-any-return]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Build the report and print the summary."""
    run = config.stash.get(SESSION, None)
    if run is None:
        return
    from harness.report.markdown import report_and_summarise

    with said_once(terminalreporter.write_line, "the report"):
        report_and_summarise(run.folder, settings_of(config).reports, terminalreporter._tw._file)
    uploaded = run.publisher.close()
    if uploaded:
        terminalreporter.write_line(uploaded)
