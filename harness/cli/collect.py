"""Collect: cells and questions as pytest's tests, each once, in the order they are measured."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from harness.cases.grid import Cell
from harness.cli.pytest_options import settings_of
from harness.cli.replay import ReplayClock
from harness.records.record import Question


def declare_markers(config: pytest.Config) -> None:
    """Declare the markers by which a suite asks for cells or for questions."""
    config.addinivalue_line("markers", "cells(suite): measure the grid's cells of this suite")
    config.addinivalue_line("markers", "behaviours: ask every behaviour of every backend")


def make_tests(metafunc: pytest.Metafunc) -> None:
    """Turn a test marked `cells(suite)` into one per cell, `behaviours` into one per question."""
    if metafunc.definition.get_closest_marker("behaviours"):
        questions = settings_of(metafunc.config).questions()
        metafunc.parametrize("question", questions, ids=[question.name for question in questions])
    marker = metafunc.definition.get_closest_marker("cells")
    if marker is None:
        return
    settings = settings_of(metafunc.config)
    cells = settings.grid.cells(marker.args[0], settings.works(), settings.device)
    metafunc.parametrize("cell", cells, ids=[cell.name for cell in cells])


def parameter(item: pytest.Item, name: str) -> Any:
    """Return what a test is parametrised with under this name, or None."""
    callspec = getattr(item, "callspec", None)
    return callspec.params.get(name) if callspec else None


def cell_of(item: pytest.Item) -> Cell | None:
    """Return the cell that a test measures, or None for any other test."""
    cell = parameter(item, "cell")
    return cell if isinstance(cell, Cell) else None


def question_of(item: pytest.Item) -> Question | None:
    """Return the question that a test asks, or None for any other test."""
    question = parameter(item, "question")
    return question if isinstance(question, Question) else None


def order_and_deselect(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Measure a cell once though two suites ask for it, and keep the cells of a case together.

    What is exact comes before what is timed. A suite of which the grid has no cell is left out.
    """
    kept: dict[Any, list[pytest.Item]] = {Question: []}
    seen, left_out = set(), []
    for item in items:
        cell = cell_of(item)
        empty = cell is None and item.get_closest_marker("cells") is not None
        if empty or (cell is not None and cell.name in seen):
            left_out.append(item)
            continue
        if cell is not None:
            seen.add(cell.name)
            item.add_marker(pytest.mark.benchmark(timer=ReplayClock()))
        group = cell.case if cell else Question if question_of(item) else "others"
        kept.setdefault(group, []).append(item)
    items[:] = [item for group in kept.values() for item in group]
    left_out += take_out_unconfirmed(config, items)
    if left_out:
        config.hook.pytest_deselected(items=left_out)


def take_out_unconfirmed(config: pytest.Config, items: list[pytest.Item]) -> list[pytest.Item]:
    """Take what `--attn-confirm` need not measure again out of the items, and return it."""
    look = settings_of(config).look if config.getoption("attn_confirm") else None
    if look is None:
        return []
    pairs = [(item, cell_of(item)) for item in items]
    items[:] = [item for item, cell in pairs if cell is not None and cell.name in look.cells]
    return [item for item, cell in pairs if cell is None or cell.name not in look.cells]


def take_out_questions_to(items: list[pytest.Item], backends: Collection[str]) -> None:
    """Take the questions to these backends out of the items."""
    asked = [(item, question_of(item)) for item in items]
    items[:] = [item for item, one in asked if one is None or one.backend not in backends]
