import gc
import weakref
from collections.abc import Callable

import pytest
import torch

from harness.attention.backend import Unavailable, Unsupported
from harness.measure.outcome import Failure, attempt, describe
from harness.records.record import Status


def raising(error: BaseException) -> Callable[[], None]:
    def action() -> None:
        raise error

    return action


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (MemoryError(), Status.OUT_OF_MEMORY, "MemoryError"),
        (
            torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB.\nmore"),
            Status.OUT_OF_MEMORY,
            "OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB.",
        ),
        (Unsupported("no float64"), Status.UNSUPPORTED, "no float64"),
        (Unavailable("not installed"), Status.UNAVAILABLE, "not installed"),
        (ValueError("bad\nsecond line"), Status.ERROR, "ValueError: bad"),
        (RuntimeError(), Status.ERROR, "RuntimeError"),
        (SystemExit("library quit"), Status.ERROR, "SystemExit: library quit"),
    ],
)
def test_exceptions_become_a_status_and_a_line(
    error: BaseException, status: Status, reason: str
) -> None:
    assert attempt(raising(error)) == Failure(status, reason)


def test_success_is_none() -> None:
    assert attempt(lambda: 1) is None


def test_a_full_host_is_out_of_memory() -> None:
    failure = attempt(lambda: torch.empty(10**15))
    assert failure is not None
    assert failure.status is Status.OUT_OF_MEMORY
    assert failure.reason == "out of memory: tried to allocate 4,000,000,000,000,000 bytes"


def test_a_wrapped_allocation_failure_is_out_of_memory() -> None:
    def action() -> None:
        try:
            raise MemoryError
        except MemoryError as error:
            raise RuntimeError("the compiler failed") from error

    failure = attempt(action)
    assert failure is not None
    assert failure.status is Status.OUT_OF_MEMORY


def test_a_keyboard_interrupt_passes_through() -> None:
    with pytest.raises(KeyboardInterrupt):
        attempt(raising(KeyboardInterrupt()))


@pytest.mark.parametrize(
    ("text", "sticky"),
    [
        ("CUDA error: an illegal memory access was encountered", True),
        ("CUDA error: device-side assert triggered", True),
        ("CUDA error: invalid argument", False),
        ("CUDA out of memory. Tried to allocate 2 GiB", False),
    ],
)
def test_sticky_errors_are_told_apart(text: str, *, sticky: bool) -> None:
    assert describe(RuntimeError(text)).sticky is sticky


def plain(tensor: torch.Tensor) -> None:
    raise ValueError("plain")


def chained(tensor: torch.Tensor) -> None:
    try:
        plain(tensor)
    except ValueError as error:
        raise RuntimeError("chained") from error


def in_passing(tensor: torch.Tensor) -> None:
    try:
        plain(tensor)
    finally:
        raise RuntimeError("in passing")


def grouped(tensor: torch.Tensor) -> None:
    try:
        plain(tensor)
    except ValueError as error:
        raise ExceptionGroup("several", [error]) from None


@pytest.mark.parametrize("fail", [plain, chained, in_passing, grouped])
def test_a_kept_exception_holds_no_tensor(fail: Callable[[torch.Tensor], None]) -> None:
    """Collect no garbage: the frames must be cleared, whoever keeps the exception."""
    held: list[weakref.ref[torch.Tensor]] = []
    kept: list[BaseException] = []

    def action() -> None:
        tensor = torch.ones(8)
        held.append(weakref.ref(tensor))
        try:
            fail(tensor)
        except BaseException as error:
            kept.append(error)
            raise

    gc.disable()
    try:
        assert attempt(action) is not None
        assert held[0]() is None
    finally:
        gc.enable()
    assert kept[0].__traceback__ is None
