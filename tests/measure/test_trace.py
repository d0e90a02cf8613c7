import torch

from harness.measure.device import trace


def test_operators_are_named_once_in_order() -> None:
    left = torch.ones(8, 8)
    seen = trace(lambda: (left + 1) @ (left + 2))
    assert seen.operators.index("aten::add") < seen.operators.index("aten::matmul")
    assert len(set(seen.operators)) == len(seen.operators)
    assert "[memory]" not in seen.operators
    assert torch.equal(seen.result, torch.full((8, 8), 48.0))


def test_allocations_come_in_pairs_by_address() -> None:
    seen = trace(lambda: torch.empty(1000, dtype=torch.uint8).add_(1) + 1).allocations
    # Numbers among the operands become tensors of a few bytes.
    first, second, third = (event for event in seen if abs(event.size) >= 1000)
    assert (first.size, second.size, third.size) == (1000, 1000, -1000)
    assert third.address == first.address != second.address
