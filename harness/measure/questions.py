"""Questions: what a backend answers to a behaviour, and to an example worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import torch

from harness.attention.backend import BACKENDS, Backend, quiet
from harness.attention.behaviours.behaviour import Behaviour
from harness.attention.behaviours.subject import Subject
from harness.cases.case import Case
from harness.measure.device import device_for
from harness.measure.outcome import Failure, attempt
from harness.measure.protocol import finding
from harness.records.record import (
    CONFORMS,
    CRASHES,
    DEVIATES,
    NO_BACKEND,
    REFUSES,
    Finding,
    Seen,
    Status,
)

# Not an answer to the question, be it wrong or right.
REFUSALS = (Status.UNSUPPORTED, Status.UNAVAILABLE, Status.OUT_OF_MEMORY)
# An example is in float64; who does not take it is asked in the next one.
EXAMPLE_DTYPES = ("float64", "float32", "float16")


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


def answer_example(backend: Backend, order: dict[str, Any]) -> dict[str, Any]:
    """Return {"dtype", "output" [T, D] with None for NaN} or {"reason"} why there is none."""
    refused = ""
    for dtype in EXAMPLE_DTYPES:
        output, failure = _try_output(backend, order, dtype)
        if output is not None:
            rows = output[0, 0].double().tolist()
            return {"dtype": dtype, "output": [[_finite(value) for value in row] for row in rows]}
        assert failure is not None
        refused = refused or failure.reason
        if failure.status is not Status.UNSUPPORTED:
            break
    return {"reason": refused}


def _try_output(
    backend: Backend, order: dict[str, Any], dtype: str
) -> tuple[torch.Tensor | None, Failure | None]:
    outputs: list[torch.Tensor] = []
    failure = attempt(lambda: outputs.append(_output_of(backend, order, dtype)))
    return (outputs[0] if outputs else None), failure


def _output_of(backend: Backend, order: dict[str, Any], dtype: str) -> torch.Tensor:
    """Return the output [1, 1, T, D] of one backend in one dtype."""
    case = Case(**order["case"] | {"dtype": dtype})
    subject = Subject(backend, device=case.device, dtype=dtype)
    query, key, value = (
        subject.tensor(order[name])[None, None] for name in ("query", "key", "value")
    )
    asked = subject.inputs(
        case.length_query, case.length_key, heads=1, dim_key=case.dim_key,
        dim_value=case.dim_value, mask=case.mask, window=case.window, keep=order["keep"],
    )  # fmt: skip
    with quiet():
        return subject.output(replace(asked, query=query, key=key, value=value))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
