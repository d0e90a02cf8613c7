"""Probe: can a backend run here at all? One tiny call, checked against the oracle, decides."""

from __future__ import annotations

from harness.attention.backend import BROKEN, Backend, quiet, reason_of
from harness.attention.works import WORKS
from harness.cases.case import Case

# The dtypes to try, the usual one of the device first.
CPU_DTYPES = ("float32", "bfloat16", "float16", "float64")
CUDA_DTYPES = ("float16", "bfloat16", "float32", "float64")
# Sizes that every GPU kernel takes: heads != length, so that a mixed-up layout shows.
PROBE = {"length": 16, "heads": 2, "dim": 64}


def probe(backend: Backend, device: str) -> str | None:
    """Return None when a tiny call runs and agrees, else the reason in one line; prints nothing.

    Never raises for a broken install. Ask once per process and backend: for FlexAttention the
    tiny call compiles (seconds, half a minute with an empty cache).
    """
    try:
        with quiet():
            reason = backend.unavailable(device) or _tiny_calls(backend, device)
    except BROKEN as error:
        reason = reason_of(error)
    return None if reason is None else reason_of(reason)


def _tiny_calls(backend: Backend, device: str) -> str | None:
    """Try the first dtype that the backend takes."""
    refused = None
    for dtype in CPU_DTYPES if device == "cpu" else CUDA_DTYPES:
        case = Case.square(PROBE["length"], heads=PROBE["heads"], dim=PROBE["dim"], dtype=dtype)
        # The one mask that every work beyond attention takes.
        mask = "full" if backend.work == "attention" else "causal"
        case = case.with_(device=device, work=backend.work, mask=mask)
        refused = backend.refusal(case)
        if refused is None:
            return _tiny_call(backend, case)
    return refused


def _tiny_call(backend: Backend, case: Case) -> str | None:
    import torch

    work = WORKS[case.work]
    inputs = work.make_inputs(case)
    with torch.no_grad():
        output = backend.prepare(case, inputs.fresh())()
    found = work.make_oracle(inputs).check(output)
    return None if found.agrees else f"a tiny call disagrees: {found.reason}"
