"""A run inside pytest, from its first worker to its report: it may end at any moment."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import IO, TYPE_CHECKING, Any

import pytest

from harness.cases.grid import Cell
from harness.cli.collect import cell_of, question_of, take_out_questions_to
from harness.cli.pytest_options import settings_of
from harness.cli.replay import JSON, replay, without_nan, write_json
from harness.records.record import REFUSES, Finding, Question, Record, Status
from harness.records.writer import CannotWrite

if TYPE_CHECKING:
    from harness.run.progress import Progress
    from harness.run.session import Session

SESSION: pytest.StashKey[Session] = pytest.StashKey()
PROGRESS: pytest.StashKey[Progress] = pytest.StashKey()
# {signal: its handler before the run}
HANDLERS = pytest.StashKey[dict[int, Any]]()


def start_run(session: pytest.Session) -> None:
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
    leave_screen_to_progress(config)
    progress = config.stash[PROGRESS] = Progress(real_output(config))
    try:
        config.stash[SESSION] = run = Session(
            settings_of(config), cells, progress.advance, questions=asked
        )
        progress.say(f"{len(cells)} cells, results in {run.folder}")
        run.start()
    except (ValueError, OSError) as error:
        raise pytest.UsageError(str(error)) from None
    take_out_questions_to(session.items, run.unavailable)
    progress.start(run.steps())


def end_as_after_ctrl_c() -> dict[int, Any]:
    """Let SIGTERM and a closed terminal end the run as Ctrl-C does; return the old handlers."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt(signal.Signals(number).name)

    wanted = [getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP")]
    before: dict[int, Any] = {}
    for number in filter(None, wanted):
        # Under nohup a closed terminal is to be ignored. A thread cannot set handlers.
        if signal.getsignal(number) is not signal.SIG_IGN:
            with suppress(ValueError):
                before[number] = signal.signal(number, interrupt)
    return before


def real_output(config: pytest.Config) -> IO[str]:
    """Return standard output as it is outside pytest's capture: tests are measured inside it."""
    capture: Any = config.pluginmanager.get_plugin("capturemanager")
    with capture.global_and_fixture_disabled():
        return os.fdopen(os.dup(1), "w", encoding="utf-8", errors="replace")


def leave_screen_to_progress(config: pytest.Config) -> None:
    """Stop pytest from writing file names and percentages into the progress bar."""
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    if config.option.verbose <= 0:
        reporter.showfspath = False
        reporter._show_progress_info = False


def status_without_letter(
    report: pytest.TestReport, config: pytest.Config
) -> tuple[str, str, str] | None:
    """Return the status of a test that prints no letter: the progress bar tells more."""
    if SESSION not in config.stash or config.option.verbose > 0 or report.when == "teardown":
        return None
    if report.skipped or (report.passed and report.when == "call"):
        return report.outcome, "", ""
    return None


@pytest.fixture
def measure(request: pytest.FixtureRequest, benchmark: Any, cell: Cell) -> Callable[[], None]:
    """Return a function that measures the cell: fails on a wrong answer, skips on an outcome.

    Out of memory, unavailable and unsupported are outcomes; a cell that disagrees, crashes,
    hangs or raises is a failure.
    """
    config = request.config
    clock = request.node.get_closest_marker("benchmark").kwargs["timer"]

    def run() -> None:
        session = config.stash[SESSION]
        with end_on_full_disk():
            # The first cell waits for every pass but the last of all cells.
            session.run_passes()
            record, samples = session.outcome(cell)
        fail_or_skip_cell(record, settings_of(config).required)
        if JSON in config.stash:
            config.stash[JSON].has_times = True
        benchmark.group = cell.case.id
        benchmark.extra_info.update(cell=record.cell, backend=record.backend)
        replay(benchmark, clock, [seconds for replica in samples for seconds in replica])

    return run


def fail_or_skip_cell(record: Record, required: tuple[str, ...]) -> None:
    """Fail or skip the test of a cell that has no time to show."""
    missing = record.status == Status.UNAVAILABLE and record.backend in required
    if record.failed or missing:
        pytest.fail(f"{record.cell}: {record.status}: {record.reason}", pytrace=False)
    if record.status != Status.OK:
        pytest.skip(f"{record.status}: {record.reason}")


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
        fail_or_skip_question(found)

    return run


def fail_or_skip_question(found: Finding) -> None:
    """Fail the test of a fault that is not known; a known one is an expected failure."""
    if found.wrong and found.known:
        pytest.xfail(str(found.reason))
    if found.wrong:
        text = f"{found.backend}.{found.behaviour}: {found.verdict}"
        seen = found.observed or found.reason
        pytest.fail(f"{text}: expected {found.expected}, observed {seen}", pytrace=False)
    if found.verdict == REFUSES:
        pytest.skip(f"refuses: {found.reason}")


@contextmanager
def end_on_full_disk() -> Iterator[None]:
    """End the run in one line when its results can no longer be written."""
    try:
        yield
    except CannotWrite as error:
        pytest.exit(str(error), returncode=pytest.ExitCode.INTERRUPTED)


def put_json_beside_tables(config: pytest.Config, content: dict[str, Any]) -> None:
    """Keep pytest-benchmark's file valid JSON: no bare NaN; put it beside the tables."""
    content.update(without_nan(content))
    run = config.stash.get(SESSION, None)
    if run is not None and JSON in config.stash:
        with full_disk_is_one_line(config, "benchmark.json"):
            write_json(run.folder / "benchmark.json", content)


def finish_run(session: pytest.Session) -> None:
    """End the workers and write the tables, also after Ctrl-C."""
    config = session.config
    run = config.stash.get(SESSION, None)
    if run is None and config.getoption("attn_confirm"):
        end_well_without_tests(session)
    if run is not None:
        config.stash[PROGRESS].stop()
        with full_disk_is_one_line(config, "results"):
            run.finish()


def end_well_without_tests(session: pytest.Session) -> None:
    """Say that a run has nothing to confirm: pytest calls a run without tests a failure."""
    if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK
        run = session.config.getoption("attn_confirm")
        write_line(session.config, f"nothing to confirm in {run}")


def report_run(config: pytest.Config) -> None:
    """Build the report, print the summary, and upload what is left."""
    run = config.stash.get(SESSION, None)
    if run is None:
        return
    from harness.report.markdown import report_and_summarise

    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    with full_disk_is_one_line(config, "the report"):
        report_and_summarise(run.folder, settings_of(config).reports, reporter._tw._file)
    uploaded = run.publisher.close()
    if uploaded:
        write_line(config, uploaded)


@contextmanager
def full_disk_is_one_line(config: pytest.Config, what: str) -> Iterator[None]:
    """Say in one line that a disk is full at the end of a run; what was written stays."""
    try:
        yield
    except CannotWrite as error:
        write_line(config, str(error))
    except OSError as error:
        write_line(config, f"{what} cannot be written: {error.strerror or error}")


def write_line(config: pytest.Config, text: str) -> None:
    """Print a line under the progress bar."""
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    reporter.write_line(text)


def leave_nothing_running(config: pytest.Config) -> None:
    """Put the signal handlers back and end every worker, however pytest ended."""
    for number, handler in config.stash.get(HANDLERS, {}).items():
        signal.signal(number, handler)
    run = config.stash.get(SESSION, None)
    if run is not None and run.pool is not None:
        run.pool.close()
