"""FlexAttention's block masks against torch's own, and one compilation for each case."""

from __future__ import annotations

import pytest
import torch
from torch._dynamo.testing import CompileCounter
from torch.nn.attention.flex_attention import create_block_mask

from harness.attention.agreement import check
from harness.attention.backends import BACKENDS
from harness.attention.backends.flex import block_mask, mask_rule, own_function
from harness.attention.behaviours import invariants
from harness.attention.inputs import make_inputs
from harness.attention.probe import probe
from harness.cases.masks import MASK_CODES
from tests.support.worked_example import case_of


@pytest.mark.parametrize("mask", [mask for mask in MASK_CODES if mask != "full"])
@pytest.mark.parametrize(("rows", "keys"), [(1, 1), (256, 256), (129, 500), (500, 129)])
@pytest.mark.parametrize("window", [3, 200])
def test_block_masks_are_those_of_torch(mask: str, rows: int, keys: int, window: int) -> None:
    case = case_of(mask, rows, keys, batch=2)
    case = case if case.window is None else case.with_(window=window)
    inputs = make_inputs(case)
    ours = block_mask(inputs)
    rule = mask_rule(case, torch.device("cpu"))
    theirs = create_block_mask(rule, 2, None, rows, keys, device="cpu")
    for kind in ("kv", "full_kv"):
        counts = getattr(ours, f"{kind}_num_blocks").expand(2, -1, -1)
        assert torch.equal(counts, getattr(theirs, f"{kind}_num_blocks"))
        chosen = torch.arange(getattr(ours, f"{kind}_indices").shape[-1]) < counts[..., None]
        indices = getattr(ours, f"{kind}_indices").expand(2, -1, -1, -1)
        assert torch.equal(indices[chosen], getattr(theirs, f"{kind}_indices")[chosen])
    assert ours.seq_lengths == (rows, keys)
    assert inputs.mask_bytes > 0


def test_each_case_compiles_its_own_function() -> None:
    """Past the recompile limit of 8 one shared function would run eager or fail."""
    counter = CompileCounter()
    for length in range(16, 28):
        compiled = torch.compile(
            own_function(f"t{length}"), backend=counter, fullgraph=True, dynamic=False
        )
        tensors = [torch.randn(1, 1, length, 16) for _ in range(3)]
        compiled(*tensors, block_mask=None, scale=0.25, enable_gqa=False)
    assert counter.frame_count == 12


@pytest.mark.slow
def test_twelve_lengths_in_one_process_compile_and_agree() -> None:
    reason = probe(BACKENDS["flex"], "cpu")
    if reason is not None:
        pytest.skip(reason)
    before = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    for length in range(32, 44):
        inputs = make_inputs(case_of("causal", length, length, dim_key=64, dim_value=64))
        found = check(invariants.run(BACKENDS["flex"], inputs), inputs)
        assert found.agrees, found.reason
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] - before == 12
