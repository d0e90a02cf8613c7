import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from harness.measure.device import Allocation, CpuDevice
from harness.measure.memory import kernel_of, peak, replay, tensor_bytes
from tests.support.fakes import FakeCuda

CPU = CpuDevice()
Inputs = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def inputs(length: int) -> Inputs:
    generator = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(1, 4, length, 64, generator=generator) for _ in range(3))
    return query, key, value


def naive(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    # One expression: a name for the scores would keep them alive beside weights and output.
    return torch.softmax((query * query.shape[-1] ** -0.5) @ key.transpose(-1, -2), -1) @ value


@pytest.mark.parametrize("length", [64, 256, 1024])
def test_naive_takes_two_score_matrices_to_the_byte(length: int) -> None:
    given = inputs(length)
    with torch.no_grad():
        naive(*given)
        seen = peak(lambda: naive(*given), CPU)
    assert seen.peak_bytes == 32 * length**2
    assert seen.output_bytes == seen.held_bytes == 1024 * length
    assert seen.reserved_bytes is None
    assert kernel_of(seen.operators) == "aten::softmax+matmul"


@pytest.mark.parametrize("length", [64, 1024])
def test_the_math_kernel_adds_a_byte_mask(length: int) -> None:
    given = inputs(length)
    with sdpa_kernel(SDPBackend.MATH), torch.no_grad():
        seen = peak(lambda: scaled_dot_product_attention(*given), CPU)
    assert seen.peak_bytes == 36 * length**2 + 1028 * length + 4
    assert kernel_of(seen.operators) == "_scaled_dot_product_attention_math"


@pytest.mark.parametrize("length", [768, 1024, 1536])
def test_flash_takes_no_score_matrix(length: int) -> None:
    given = inputs(length)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        seen = peak(lambda: scaled_dot_product_attention(*given), CPU)
    finally:
        torch.set_num_threads(threads)
    assert kernel_of(seen.operators) == "_scaled_dot_product_flash_attention_for_cpu"
    # A tile of scratch per thread: 591,872 bytes each.
    assert seen.peak_bytes == 1040 * length + 591_872


def test_a_repeated_peak_is_equal() -> None:
    given = inputs(128)
    with torch.no_grad():
        assert len({peak(lambda: naive(*given), CPU).peak_bytes for _ in range(5)}) == 1


def test_freeing_what_was_resident_lowers_nothing() -> None:
    kept: list[torch.Tensor] = []

    def call() -> torch.Tensor:
        kept.clear()
        return torch.ones(1000, dtype=torch.uint8)

    # The profiler reports the end of blocks whose beginning it saw in an earlier profile.
    assert peak(lambda: kept.append(torch.ones(5000, dtype=torch.uint8)), CPU).held_bytes == 5000
    seen = peak(call, CPU)
    assert (seen.peak_bytes, seen.held_bytes) == (1000, 1000)


def test_saved_tensors_are_held() -> None:
    query, key, value = inputs(64)
    query.requires_grad_()
    with torch.enable_grad():
        seen = peak(lambda: naive(query, key, value), CPU)
    assert seen.held_bytes >= seen.output_bytes + 16 * 64**2


def test_replay_adds_and_forgets_by_address() -> None:
    one, two = ("cpu", 1), ("cpu", 2)
    events = [
        Allocation(("cpu", 9), -500),
        Allocation(one, 100),
        Allocation(two, 50),
        Allocation(one, -100),
        Allocation(one, 20),
        Allocation(two, -50),
    ]
    assert replay(events) == (150, 20)
    assert replay([]) == (0, 0)
    assert replay([Allocation(("cuda:0", 1), 10), Allocation(one, -10)]) == (10, 10)


def test_bytes_of_nested_results() -> None:
    one = torch.zeros(10)
    assert tensor_bytes((one, [one, {"a": one}], None, 3)) == 120
    assert tensor_bytes(one.expand(5, 10)) == 200


def test_a_chip_tells_its_own_peak() -> None:
    chip = FakeCuda()

    def call() -> torch.Tensor:
        chip.allocate(700)
        chip.allocate(-400)
        return torch.zeros(25)

    seen = peak(call, chip)
    assert (seen.peak_bytes, seen.held_bytes, seen.output_bytes) == (700, 300, 100)
    assert seen.reserved_bytes == 2 * 1700
    assert "flash_fwd_kernel" in seen.operators


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_naive_on_cuda_takes_two_score_matrices() -> None:
    from harness.measure.device import device_for

    query, key, value = (tensor.cuda() for tensor in inputs(1024))
    with torch.no_grad():
        naive(query, key, value)
        seen = peak(lambda: naive(query, key, value), device_for("cuda"))
    assert seen.peak_bytes == pytest.approx(32 * 1024**2, rel=0.01)
    assert seen.reserved_bytes is not None
