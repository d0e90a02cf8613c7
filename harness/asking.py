"""Asking: the part of the pytest door that turns questions into tests. Never loads torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from harness.conformance import REFUSES, Finding, Question
from harness.ending import end_on_full_disk


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
    from harness.plugin import SESSION

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
