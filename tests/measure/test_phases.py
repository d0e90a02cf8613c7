"""Backward as it is timed: right gradients, nothing accumulated, faults caught, bytes exact."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from harness.attention.backend import Backend, Unsupported
from harness.attention.backends import BACKENDS
from harness.attention.inputs import Inputs, make_inputs
from harness.cases.case import Case
from harness.measure.host_memory import wanted_bytes
from harness.measure.phases import Passes, output_gradient
from harness.measure.protocol import Visit
from harness.measure.visit import measure_visit
from harness.records.record import Observation, Status

PHASES = ("backward", "forward_backward")
HERE = ("naive", "rowwise", "sdpa", "sdpa-math", "sdpa-flash")  # with a backward on a CPU


class Trained(Backend):
    """A backend whose backward does what the test says; its forward is right."""

    name = "trained"

    def __init__(self, function: Any) -> None:
        self.function, self.grad_modes, self.calls = function, set[bool](), 0

    def prepare(self, case: Case, inputs: Inputs) -> Any:
        def call() -> torch.Tensor:
            self.calls += 1
            self.grad_modes.add(torch.is_grad_enabled())
            return self.function(inputs.query, inputs.key, inputs.value, inputs.scale)

        return call


def formula(query: Any, key: Any, value: Any, scale: float) -> torch.Tensor:
    return ((query * scale) @ key.mT).softmax(-1) @ value


class Hand(torch.autograd.Function):
    """The formula with its backward by hand; `fault` says what is wrong with it."""

    @staticmethod
    def forward(ctx: Any, query: Any, key: Any, value: Any, scale: Any, fault: Any) -> Any:
        weights = ((query * scale) @ key.mT).softmax(-1)
        ctx.save_for_backward(query, key, value, weights)
        ctx.scale, ctx.fault = scale, fault
        return weights @ value

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        query, key, value, weights = ctx.saved_tensors
        grad_weights = grad @ value.mT
        along = (grad_weights * weights).sum(-1, keepdim=True) * (ctx.fault != "no sum")
        scores = weights * (grad_weights - along) * (1.0 if ctx.fault == "scale" else ctx.scale)
        found = [scores @ key, scores.mT @ query, weights.mT @ grad]
        found[0] = found[0] * (float("nan") if ctx.fault == "nan" else 1.0)
        found[2] = found[2] * (ctx.fault != "zero")
        return *found, None, None


def by_hand(fault: str | None) -> Trained:
    return Trained(lambda q, k, v, scale: Hand.apply(q, k, v, scale, fault))


def visit(backend: Backend, case: Case, **fields: Any) -> Observation:
    order = Visit(
        case=case, backends=(backend.name,), seed=0, **({"target": 0.5, "cap_s": 0.01} | fields)
    )
    limit = fields.pop("limit", None)
    done = measure_visit(order, {backend.name: backend}, limit=limit, mark=lambda _: None)
    seen, broken = done.seen, done.broken
    assert not broken
    return seen[backend.name]


def case_of(phase: str, length: int = 48, **fields: Any) -> Case:
    return Case.square(length, **({"heads": 2, "dim": 16, "phase": phase} | fields))


@pytest.mark.parametrize("name", HERE)
def test_gradients_are_those_of_float64_autograd(name: str) -> None:
    case = case_of("forward_backward", 24, dtype="float64")
    inputs = make_inputs(case)
    leaves = tuple(t.requires_grad_() for t in (inputs.query, inputs.key, inputs.value))
    passes = Passes(
        BACKENDS[name].prepare(case, inputs.fresh()), phase=case.phase, leaves=leaves, seed=0
    )
    seed = passes.draw_grad_output(passes.forward())
    right = torch.autograd.grad(formula(*leaves, inputs.scale), leaves, seed)
    kept = Passes(passes.forward, phase="backward", leaves=leaves, seed=0)
    kept.draw_grad_output(kept.forward())
    for call in (passes.timed(), kept.timed()):
        for _ in range(2):  # a kept graph survives; gradients do not add up
            for got, expected in zip(call(), right, strict=True):
                torch.testing.assert_close(got, expected, rtol=1e-9, atol=1e-11)
    assert all(leaf.grad is None for leaf in leaves)


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("name", HERE)
def test_every_backend_with_a_backward_is_measured(name: str, phase: str) -> None:
    seen = visit(BACKENDS[name], case_of(phase, heads_kv=1))
    assert (seen.status, seen.reason) == (Status.OK, None)
    assert seen.agrees is True
    assert seen.samples_s
    assert seen.peak_bytes is not None
    assert seen.held_bytes is not None
    assert seen.peak_bytes > seen.held_bytes > 0


def test_the_right_backward_by_hand_agrees() -> None:
    assert visit(by_hand(None), case_of("backward")).status is Status.OK


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("no sum", "gradient of query: largest error"),
        ("scale", "gradient of query: largest error"),
        ("nan", "gradient of query: NaN or infinity in"),
        ("zero", "gradient of value: largest error"),
    ],
)
def test_a_wrong_backward_disagrees_and_is_never_timed(
    fault: str, reason: str, phase: str
) -> None:
    backend = by_hand(fault)
    seen = visit(backend, case_of(phase))
    assert seen.status is Status.DISAGREES
    assert str(seen.reason).startswith(reason)
    assert seen.agrees is False
    assert seen.samples_s == ()
    assert seen.peak_bytes is None
    assert backend.calls == 1, "one call for agreement and no other"
    assert visit(by_hand(fault), case_of("forward")).status is Status.OK


def test_a_gradient_that_never_comes_is_named() -> None:
    def detached(query: Any, key: Any, value: Any, scale: float) -> torch.Tensor:
        return formula(query, key.detach(), value, scale)

    seen = visit(Trained(detached), case_of("backward"))
    assert seen.status is Status.DISAGREES
    assert seen.reason == "gradient of key: none, the output does not depend on it"


def test_an_output_without_gradient_is_unsupported() -> None:
    def cut(query: Any, key: Any, value: Any, scale: float) -> torch.Tensor:
        return formula(query, key, value, scale).detach()

    seen = visit(Trained(cut), case_of("backward"))
    assert seen.status is Status.UNSUPPORTED
    assert seen.reason == "its output carries no gradient: it has no backward"


def test_a_backward_that_is_not_implemented_is_unsupported() -> None:
    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, value: Any) -> Any:
            return value.clone()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            raise NotImplementedError("no kernel for this head dim\nand a second line")

    seen = visit(Trained(lambda q, k, v, s: Half.apply(formula(q, k, v, s))), case_of("backward"))
    assert (seen.status, seen.reason) == (Status.UNSUPPORTED, "no kernel for this head dim")


def test_a_wrong_output_is_told_before_any_backward() -> None:
    seen = visit(Trained(lambda q, k, v, s: v * 1.0), case_of("backward"))
    assert seen.status is Status.DISAGREES
    assert str(seen.reason).startswith("largest error")


def test_gradients_are_recorded_for_backward_phases_alone() -> None:
    modes = {}
    for phase in ("forward", *PHASES):
        backend = Trained(formula)
        visit(backend, case_of(phase))
        modes[phase] = backend.grad_modes
    assert modes == {"forward": {False}, "backward": {True}, "forward_backward": {True}}
    assert torch.is_grad_enabled()


def test_backward_times_no_forward() -> None:
    backend = Trained(formula)
    seen = visit(backend, case_of("backward"), replica=1)
    assert len(seen.samples_s) * seen.calls_per_sample > backend.calls
    assert backend.calls == 2, "the first use, and the one whose graph is kept"
    assert (seen.agrees, seen.held_bytes) == (None, None)


def test_forward_and_backward_times_both() -> None:
    backend = Trained(formula)
    seen = visit(backend, case_of("forward_backward"), replica=1)
    assert backend.calls > len(seen.samples_s) * seen.calls_per_sample


@pytest.mark.parametrize("length", [64, 128])
@pytest.mark.parametrize(
    ("name", "held", "peak"),
    [
        ("naive", (16, 2048, 8), (48, 3072, 8)),
        ("sdpa-math", (16, 3072, 0), (48, 4096, 0)),
        ("sdpa-flash", (0, 1040, 0), None),
    ],
)
def test_bytes_held_and_peak_are_exact(
    name: str, held: tuple[int, ...], peak: tuple[int, ...] | None, length: int
) -> None:
    """H=4, D=64, float32: naive holds the weights, 16 T², output, scaled query, and the scale."""
    for phase in PHASES:
        seen = visit(BACKENDS[name], Case.square(length, phase=phase))
        assert seen.held_bytes == law(held, length)
        assert peak is None or seen.peak_bytes == law(peak, length)


def law(terms: tuple[int, ...], length: int) -> int:
    square, linear, constant = terms
    return square * length**2 + linear * length + constant


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_row_by_row_has_no_backward_in_half_precision(dtype: str) -> None:
    seen = visit(BACKENDS["rowwise"], case_of("backward", dtype=dtype))
    assert seen.status is Status.UNSUPPORTED
    assert f"add up the gradients of all rows in {dtype}" in str(seen.reason)
    assert visit(BACKENDS["rowwise"], case_of("forward", dtype=dtype)).status is Status.OK


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("tiled", "forward only: autograd over the blocks would keep all T x T weights"),
        ("flex", "FlexAttention has no backward on a CPU"),
        ("xformers-splitk", "the split-K operator has no backward"),
    ],
)
def test_no_backward_is_unsupported_with_the_reason(name: str, reason: str) -> None:
    for phase in PHASES:
        seen = visit(BACKENDS[name], case_of(phase))
        assert (seen.status, seen.reason) == (Status.UNSUPPORTED, reason)


@pytest.mark.parametrize(("name", "operator"), [("sdpa-math", "math"), ("sdpa-flash", "flash")])
def test_a_pinned_backward_is_seen(name: str, operator: str) -> None:
    seen = visit(BACKENDS[name], case_of("backward"))
    assert seen.status is Status.OK
    assert operator in str(seen.kernel)


def test_a_backward_that_strays_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(BACKENDS["sdpa-flash"]), "pinned_backward", "no_such_operator")
    seen = visit(BACKENDS["sdpa-flash"], case_of("backward"))
    assert seen.status is Status.ERROR
    assert "pinned to no_such_operator" in str(seen.reason)
    assert visit(BACKENDS["sdpa-flash"], case_of("forward")).status is Status.OK


def test_the_output_gradient_has_the_layout_of_the_output() -> None:
    plain = torch.zeros(2, 3, 5, 4, dtype=torch.bfloat16)
    turned = torch.zeros(2, 5, 3, 4, dtype=torch.bfloat16).transpose(1, 2)
    one, two = (output_gradient(output, seed=7) for output in (plain, turned))
    assert torch.equal(one, two)
    assert (one.stride(), two.stride()) == (plain.stride(), turned.stride())
    assert one.dtype is torch.bfloat16
    assert not one.requires_grad
    assert not torch.equal(one, output_gradient(plain, seed=8))


def test_the_output_gradient_is_not_the_query() -> None:
    inputs = make_inputs(case_of("backward"), seed=0)
    drawn = output_gradient(inputs.query, seed=0)
    assert (drawn - inputs.query).abs().mean() > 0.5


@pytest.mark.parametrize("name", ["naive", "sdpa-math", "rowwise"])
def test_the_estimate_covers_what_is_kept(name: str) -> None:
    case = case_of("backward", 64, heads=4, dim=64)
    seen = visit(BACKENDS[name], case)
    assert seen.peak_bytes is not None
    wanted = wanted_bytes(BACKENDS[name], case)
    assert seen.peak_bytes <= wanted < 2 * seen.peak_bytes
    assert wanted_bytes(BACKENDS[name], case.with_(phase="forward")) < wanted


def test_backward_is_refused_where_forward_fits() -> None:
    limit = 3 * Case.square(256).score_bytes()
    order = {"target": 0.5, "cap_s": 0.01, "seed": 0, "backends": ("naive", "sdpa-flash")}
    found = {}
    for phase in ("forward", "backward"):
        visit = Visit(case=Case.square(256, phase=phase), **order)  # type: ignore[arg-type]
        seen = measure_visit(visit, BACKENDS, limit=limit, mark=lambda _: None).seen
        found[phase] = {name: one.status.value for name, one in seen.items()}
    assert found["forward"] == {"naive": "ok", "sdpa-flash": "ok"}
    assert found["backward"] == {"naive": "out_of_memory", "sdpa-flash": "ok"}


def test_a_work_without_training_is_unsupported(monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.attention.works import WORKS, Work

    bare = Work(WORKS["attention"].make_inputs, WORKS["attention"].make_oracle)
    monkeypatch.setitem(WORKS, "attention", bare)
    seen = visit(BACKENDS["naive"], case_of("backward"))
    assert seen.status is Status.UNSUPPORTED
    assert "phase backward of attention is not measured" in str(seen.reason)


def test_passes_refuse_what_has_no_gradient() -> None:
    passes = Passes(lambda: torch.zeros(3), phase="backward", leaves=(), seed=0)
    with pytest.raises(Unsupported):
        passes.draw_grad_output(passes.forward())
