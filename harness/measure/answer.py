"""Answer: what one backend gives for the numbers of an example."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import torch

from harness.attention.backend import Backend
from harness.attention.behaviours.subject import Subject
from harness.attention.reasons import quiet
from harness.case import Case
from harness.measure.outcome import Failure, attempt
from harness.record import Status

# The example is in float64; who does not take it is asked in the next one.
DTYPES = ("float64", "float32", "float16")


def answer(backend: Backend, order: dict[str, Any]) -> dict[str, Any]:
    """Return {"dtype", "output" [T, D] with None for NaN} or {"reason"} why there is none."""
    refused = ""
    for dtype in DTYPES:
        output, failure = _try(backend, order, dtype)
        if output is not None:
            rows = output[0, 0].double().tolist()
            return {"dtype": dtype, "output": [[_finite(value) for value in row] for row in rows]}
        assert failure is not None
        refused = refused or failure.reason
        if failure.status is not Status.UNSUPPORTED:
            break
    return {"reason": refused}


def _try(
    backend: Backend, order: dict[str, Any], dtype: str
) -> tuple[torch.Tensor | None, Failure | None]:
    outputs: list[torch.Tensor] = []
    failure = attempt(lambda: outputs.append(output_of(backend, order, dtype)))
    return (outputs[0] if outputs else None), failure


def output_of(backend: Backend, order: dict[str, Any], dtype: str) -> torch.Tensor:
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
