"""The plugin that pytest loads: its hooks in the order of a run. Never loads torch."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from harness.cli.collect import declare_markers, make_tests, order_and_deselect
from harness.cli.pytest_options import add_options, settings_of
from harness.cli.pytest_run import (
    conform,
    finish_run,
    leave_nothing_running,
    measure,
    put_json_beside_tables,
    report_run,
    start_run,
    status_without_letter,
)
from harness.cli.replay import keep_benchmark_quiet

# Pytest finds the hooks and fixtures of a plugin by its names.
FIXTURES = (measure, conform)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the group "attention"."""
    add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers, before pytest-benchmark reads its options."""
    declare_markers(config)
    keep_benchmark_quiet(config)


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Check the settings before collecting, so that a wrong one is one line and exit code 4."""
    if session.config.getoption("benchmark_only", False):
        settings_of(session.config)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test per cell and per question."""
    make_tests(metafunc)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the tests, after `-k` and `-m` have left some out."""
    order_and_deselect(config, items)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Start the workers."""
    start_run(session)


def pytest_report_teststatus(
    report: pytest.TestReport, config: pytest.Config
) -> tuple[str, str, str] | None:
    """Print no letter per test."""
    return status_without_letter(report, config)


def pytest_benchmark_update_json(config: pytest.Config, output_json: dict[str, Any]) -> None:
    """Write pytest-benchmark's file."""
    put_json_beside_tables(config, output_json)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None]:
    """Write the tables, before other plugins end."""
    finish_run(session)
    return (yield)


def pytest_terminal_summary(config: pytest.Config) -> None:
    """Build the report and print the summary."""
    report_run(config)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave no worker behind."""
    leave_nothing_running(config)
