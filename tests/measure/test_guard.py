"""What a backend changes is found, named and put back."""

import threading
from collections.abc import Callable, Iterator

import pytest
import torch

from harness.attention.inputs import Inputs, make_inputs
from harness.attention.works.model import make_model
from harness.cases.case import Case
from harness.measure.guard import Guard, put_back, read_settings, read_switches, tensors_of
from harness.measure.outcome import Misconduct, describe
from harness.records.record import Status

CASE = Case.square(16, heads=2, dim=8)


@pytest.fixture(autouse=True)
def unharmed() -> Iterator[None]:
    before = read_switches(), read_settings()
    yield
    after = read_switches(), read_settings()
    put_back(*before)
    assert after == before, "a test has left torch's state changed"


@pytest.fixture
def inputs() -> Inputs:
    return make_inputs(CASE)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda: torch.set_num_threads(torch.get_num_threads() + 1), "the number of threads from"),
        (lambda: torch.set_default_dtype(torch.float64), "the default dtype from torch.float32"),
        (lambda: torch.set_grad_enabled(False), "the grad mode from True to False"),
        (lambda: torch.set_float32_matmul_precision("medium"), "float32 products from highest"),
        (lambda: torch.use_deterministic_algorithms(True), "deterministic algorithms from False"),
        (lambda: torch.set_default_device("meta"), "the default device from cpu to meta"),
        (lambda: torch.randn(3), "the state of the random generator"),
        (lambda: torch.manual_seed(1), "the state of the random generator"),
    ],
)
def test_a_change_of_torchs_state_is_named_and_undone(
    inputs: Inputs, change: Callable[[], object], words: str
) -> None:
    guard = Guard(inputs)
    change()
    with pytest.raises(Misconduct, match=words):
        guard.inspect()
    guard.inspect()


def test_a_glance_sees_switches_and_writes_through_torch(inputs: Inputs) -> None:
    guard = Guard(inputs)
    guard.glance()
    torch.set_grad_enabled(False)
    with pytest.raises(Misconduct, match="grad mode"):
        guard.glance()
    inputs.key[0, 1, 2, 3] += 1
    with pytest.raises(Misconduct, match=r"it changes its inputs: key$"):
        guard.glance()
    guard.glance()


def test_a_write_of_the_same_values_is_no_change(inputs: Inputs) -> None:
    guard = Guard(inputs)
    inputs.query.copy_(inputs.query.clone())
    guard.inspect()


def test_inputs_are_put_back_after_a_raw_write(inputs: Inputs) -> None:
    before = inputs.value.clone()
    guard = Guard(inputs)
    inputs.value.numpy()[0, 0, 0, 0] += 1
    guard.glance()  # Nothing that torch counts has happened.
    with pytest.raises(Misconduct, match="it changes its inputs: value"):
        guard.inspect()
    assert torch.equal(inputs.value, before)


def test_leaves_that_take_gradients_are_put_back_too(inputs: Inputs) -> None:
    inputs.query.requires_grad_()
    before = inputs.query.detach().clone()
    guard = Guard(inputs)
    inputs.query.detach().zero_()
    with pytest.raises(Misconduct, match="query"):
        guard.inspect()
    assert torch.equal(inputs.query.detach(), before)
    assert inputs.query.requires_grad


def test_every_tensor_of_a_nest_is_watched() -> None:
    model = make_model(Case.square(8, heads=2, dim=8, mask="causal", work="sequence"))
    names = [name for name, _ in tensors_of(model)]
    assert {"tokens", "embedding", "positions", "unembedding", "packed"} <= set(names)
    assert names.count("packed") == len(model.blocks)


def test_a_thread_left_running_is_named_and_past_mending(inputs: Inputs) -> None:
    guard = Guard(inputs)
    end = threading.Event()
    left = threading.Thread(target=end.wait, name="spinner")
    left.start()
    try:
        with pytest.raises(Misconduct, match=r"it leaves 1 thread\(s\) running: spinner") as seen:
            guard.inspect()
        guard.inspect(may_start_threads=True)
    finally:
        end.set()
        left.join()
    guard.inspect()
    failure = describe(seen.value)
    assert (failure.status, failure.sticky) == (Status.ERROR, True)
    assert failure.reason == "it leaves 1 thread(s) running: spinner"
