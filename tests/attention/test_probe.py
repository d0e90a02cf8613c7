"""A broken install, a refused or a wrong call become one line; the parent loads no torch."""

from __future__ import annotations

import importlib
import subprocess
import sys
import warnings
from typing import Any

import pytest
import torch

from harness.attention.backend import (
    Backend,
    Unavailable,
    Unsupported,
    backend,
    closest_refusal,
    load,
    quiet,
    reason_of,
)
from harness.attention.backends import BACKENDS
from harness.attention.inputs import Inputs, make_inputs
from harness.attention.probe import probe
from harness.cases.case import Case

OPTIONAL = [name for name in BACKENDS if name.startswith(("xformers", "flash-attn"))]


def test_the_list_of_backends_needs_no_torch() -> None:
    code = (
        "import sys, harness.attention.backends as b; from harness.cases.case import Case;"
        "[x.unsupported(Case.square(8)) for x in b.BACKENDS.values()];"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", OPTIONAL)
@pytest.mark.parametrize(
    "error",
    [ImportError, OSError, RuntimeError, AttributeError, AssertionError, SystemExit, TypeError],
)
def test_a_broken_install_is_a_reason(
    name: str, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(module: str) -> None:
        print("noise")
        warnings.warn("more noise", stacklevel=1)
        raise error("undefined symbol: _ZN3c10 at 0x7f00\nTraceback (most recent call last)")

    monkeypatch.setattr(importlib, "import_module", fail)
    reason = probe(BACKENDS[name], "cpu")
    assert reason is not None
    assert reason.startswith("cannot import ")
    assert reason.endswith("undefined symbol: _ZN3c10")


class Fake(Backend):
    """A backend that does what the test says."""

    name = "fake"

    def __init__(self, answer: Any, *, dtype: str = "float32") -> None:
        self.answer, self.dtype = answer, dtype

    def unsupported(self, case: Case) -> str | None:
        return None if case.dtype == self.dtype else f"only {self.dtype}"

    def prepare(self, case: Case, inputs: Inputs) -> Any:
        return lambda: self.answer(inputs)


def honest(inputs: Inputs) -> torch.Tensor:
    warnings.warn("a flood", stacklevel=1)
    print("chatter")
    return torch.nn.functional.scaled_dot_product_attention(inputs.query, inputs.key, inputs.value)


def raising(error: BaseException) -> Any:
    def answer(inputs: Inputs) -> torch.Tensor:
        raise error

    return answer


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float64"])
def test_a_probe_takes_a_dtype_that_the_backend_takes(
    dtype: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert probe(Fake(honest, dtype=dtype), "cpu") is None
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (raising(Unsupported("no such kernel")), "no such kernel"),
        (raising(Unavailable("needs a GPU")), "needs a GPU"),
        (raising(SystemExit(3)), "3"),
        (raising(AssertionError()), "AssertionError"),
        (lambda inputs: torch.zeros_like(inputs.query), "a tiny call disagrees: largest error"),
        (lambda inputs: inputs.query * float("nan"), "a tiny call disagrees: NaN or infinity in"),
        (lambda inputs: inputs.query[:, :1], "a tiny call disagrees: shape (1, 1, 16, 64) inst"),
    ],
)
def test_what_a_probe_says(answer: Any, reason: str) -> None:
    said = probe(Fake(answer), "cpu")
    assert said is not None
    assert said.startswith(reason)


def test_a_probe_lets_an_interrupt_through() -> None:
    with pytest.raises(KeyboardInterrupt):
        probe(Fake(raising(KeyboardInterrupt())), "cpu")


def test_one_line() -> None:
    assert reason_of("\n  first <f at 0x7ffe12>  line:\nsecond") == "first <f> line"
    assert reason_of(ValueError()) == "ValueError"
    assert len(reason_of("word " * 100)) <= 160


def test_quiet_puts_logging_back() -> None:
    import logging

    with pytest.raises(RuntimeError), quiet():
        raise RuntimeError
    assert logging.root.manager.disable == logging.NOTSET


def test_load_names_the_module() -> None:
    with pytest.raises(Unavailable, match="cannot import no_such_thing: No module named"):
        load("no_such_thing")


def test_a_name_is_listed_once() -> None:
    with pytest.raises(ValueError, match="'naive' is listed twice"):
        backend(type("Again", (Backend,), {"name": "naive"}))


def test_the_closest_refusal_of_xformers() -> None:
    text = """No operator found with inputs:
     query : shape=(1, 16, 2, 64)
`a` is not supported because:
    device=cpu (supported: {'cuda'})
    operator wasn't built
`b` is not supported because:
    device=cpu (supported: {'cuda'})"""
    assert closest_refusal(text) == "device=cpu (supported: {'cuda'})"
    assert closest_refusal("something else\nmore") == "something else"


def test_a_held_kernel_that_refuses_says_why_and_puts_the_switches_back() -> None:
    case = Case.square(8, dim_value=32)
    call = BACKENDS["sdpa-flash"].prepare(case, make_inputs(case))
    with pytest.raises(Unsupported, match="same last dimension"):
        call()
    assert torch.backends.cuda.math_sdp_enabled()
    assert torch.backends.cuda.mem_efficient_sdp_enabled()
    assert torch.backends.cuda.cudnn_sdp_enabled()


def test_an_error_of_a_held_kernel_that_is_no_refusal_stays_an_error() -> None:
    case = Case.square(8)
    inputs = make_inputs(case)
    inputs.key = inputs.key[..., :5]
    with pytest.raises(RuntimeError):
        BACKENDS["sdpa-math"].prepare(case, inputs)()
    assert torch.backends.cuda.flash_sdp_enabled()


@pytest.mark.parametrize(
    ("name", "operator"),
    [
        ("sdpa-flash", "aten::_scaled_dot_product_flash_attention_for_cpu"),
        ("sdpa-math", "aten::_scaled_dot_product_attention_math"),
    ],
)
def test_pinned_kernels_are_named_as_the_profiler_sees_them(name: str, operator: str) -> None:
    import re

    case = Case.square(32)
    call = BACKENDS[name].prepare(case, make_inputs(case))
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as seen:
        call()
    assert operator in {event.key for event in seen.key_averages()}
    assert re.search(BACKENDS[name].pinned_kernel or "", operator)
