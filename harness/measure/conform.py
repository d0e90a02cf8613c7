"""Conform: ask one behaviour of one backend and turn whatever happens into a finding."""

from __future__ import annotations

from dataclasses import replace

from harness.attention.backend import BACKENDS, Backend
from harness.attention.behaviours.behaviour import Behaviour
from harness.attention.behaviours.subject import Subject
from harness.attention.reasons import quiet
from harness.conformance import CONFORMS, CRASHES, DEVIATES, NO_BACKEND, REFUSES, Finding, Seen
from harness.measure.device import device_for
from harness.measure.outcome import Failure, attempt
from harness.record import Status

# Not an answer to the question, be it wrong or right.
REFUSALS = (Status.UNSUPPORTED, Status.UNAVAILABLE, Status.OUT_OF_MEMORY)


def examine(
    backend: Backend | None, behaviour: Behaviour, device: str, *, in_child: bool = True
) -> Finding:
    """Ask in the behaviour's first dtype that the backend does not refuse.

    A risky question is not asked in a process that must live on (`in_child` False). An exception
    is a deviation of the backends that come with the program, and a refusal of a user's own.
    """
    name = backend.name if backend is not None else NO_BACKEND
    answer = finding(name, behaviour, device)
    if behaviour.risky and not in_child:
        return _refused(answer, "risky: only asked in a worker process")
    for dtype in behaviour.dtypes:
        seen, failure = _ask(backend, behaviour, device, dtype=dtype)
        if failure is None:
            assert seen is not None
            verdict = CONFORMS if seen.conforms else DEVIATES
            return finding(
                name, behaviour, device, dtype=dtype, expected=seen.expected,
                observed=seen.observed, verdict=verdict,
            )  # fmt: skip
        if failure.status not in REFUSALS:
            answer = finding(name, behaviour, device, dtype=dtype)
            allowed = behaviour.may_raise or name not in BACKENDS
            return _raised(answer, failure, allowed=allowed)
        if answer.reason is None:
            answer = _refused(answer, failure.reason)
    return answer


def finding(
    name: str,
    behaviour: Behaviour,
    device: str,
    *,
    dtype: str | None = None,
    expected: str | None = None,
    observed: str | None = None,
    verdict: str = REFUSES,
) -> Finding:
    """Make a finding; its dtype is the first that the behaviour asks for, unless given."""
    return Finding(
        backend=name,
        behaviour=behaviour.id,
        device=device,
        dtype=dtype or behaviour.dtypes[0],
        expected=expected or behaviour.sentence,
        observed=observed,
        verdict=verdict,
    )


def _ask(
    backend: Backend | None, behaviour: Behaviour, device: str, *, dtype: str
) -> tuple[Seen | None, Failure | None]:
    found: list[Seen] = []

    def ask() -> None:
        with quiet():
            found.append(behaviour.check(Subject(backend, device=device, dtype=dtype)))
        device_for(device).synchronize()

    failure = attempt(ask)
    return (found[0] if found else None), failure


def _refused(answer: Finding, reason: str) -> Finding:
    return replace(answer, verdict=REFUSES, reason=reason)


def _raised(answer: Finding, failure: Failure, *, allowed: bool) -> Finding:
    """Take an exception as a refusal where an error is right, else as a deviation.

    One that leaves the device past use is a crash.
    """
    if failure.sticky:
        return replace(answer, verdict=CRASHES, reason=failure.reason)
    if allowed:
        return _refused(answer, failure.reason)
    return replace(answer, verdict=DEVIATES, observed=f"raises {failure.reason}")
