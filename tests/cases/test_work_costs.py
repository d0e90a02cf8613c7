"""Works beyond attention: exact FLOPs and bytes, and the shapes that make no sense."""

from pathlib import Path

import pytest

from harness.cases.case import Case
from harness.cases.costs import MODELS
from harness.cases.grid import load_grid

GATED = {"rnn": 1, "gru": 3, "lstm": 4}


def case_of(work: str, **fields: object) -> Case:
    fixed = {"heads": 2, "dim": 4, "batch": 3, "mask": "causal"}
    return Case.square(5, work=work, **(fixed | fields))  # type: ignore[arg-type]


def test_products_and_layer() -> None:
    """Four products of [15, 8] with [8, 8]; a layer adds two products over 15 pairs a head."""
    products = 4 * 2 * 15 * 8 * 8
    assert case_of("projections").flops() == products
    assert case_of("layer").flops() == products + 2 * (3 * 15) * 2 * (4 + 4)
    assert case_of("layer", mask="full").flops() == products + 2 * (3 * 25) * 2 * (4 + 4)
    assert case_of("layer", phase="backward").flops() == 2 * case_of("layer").flops()


@pytest.mark.parametrize(("work", "gates"), GATED.items())
def test_recurrences(work: str, gates: int) -> None:
    """Each gate takes one product with the input and one with the state, at each position."""
    case = case_of(work)
    assert case.flops() == 15 * gates * 2 * (2 * 8 * 8)
    weights = gates * (8 * 8 + 8 * 8 + 8 + 8)
    assert case.input_bytes() == 4 * (15 * 8 + weights)
    assert case.output_bytes() == 4 * 15 * 8
    assert case.min_bytes() == case.input_bytes() + case.output_bytes()


def test_models() -> None:
    """Per block: 4 + 8 products of width², and attention; then logits over 256 tokens."""
    attended = 2 * (3 * 15) * 2 * (4 + 4)
    whole = 2 * (15 * 12 * 2 * 64 + attended) + 15 * 2 * 8 * 256
    assert case_of("sequence").flops() == whole
    one = 2 * (3 * 12 * 2 * 64 + 2 * (3 * 5) * 2 * (4 + 4)) + 3 * 2 * 8 * 256
    assert case_of("step").flops() == one
    assert case_of("sequence").output_bytes() == 15 * 256 * 4
    assert case_of("step").output_bytes() == 3 * 256 * 4
    kept = 2 * 2 * 15 * 8 * 4
    assert case_of("step").input_bytes() == case_of("sequence").input_bytes() + kept


def test_steps_add_up_to_the_pass() -> None:
    """Decoding token by token with a cache does the work of one pass, no more."""
    steps = [case_of("step").with_(length_query=t, length_key=t).flops() for t in range(1, 6)]
    assert sum(steps) == case_of("sequence").flops()


@pytest.mark.parametrize(
    ("work", "fields", "words"),
    [
        ("layer", {"heads_kv": 1}, "work layer needs heads_kv = heads, not 1 and 2"),
        ("layer", {"dim_value": 8}, "work layer needs dim_value = dim_key, not 8 and 4"),
        ("projections", {"mask": "alibi"}, "work projections has no mask alibi"),
        *[(name, {"mask": "full"}, "needs mask causal, not full") for name in (*GATED, *MODELS)],
    ],
)
def test_what_makes_no_sense_is_refused(work: str, fields: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        case_of(work, **fields)


def test_crossed_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="work step needs length_query = length_key, not 1 and 5"):
        case_of("step").with_(length_query=1)


def test_a_grid_says_so_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[[series]]\nsuite = "generation"\nwork = "step"\n')
    with pytest.raises(ValueError, match=r"mine\.toml: work step needs mask causal, not full"):
        load_grid(str(path))


def test_the_work_is_in_the_id() -> None:
    assert case_of("gru").id == "gru-fwd-t5-b3-h2-d4-f32-causal"
    assert case_of("step").id == "step-fwd-t5-b3-h2-d4-f32-causal"


def test_quick_asks_every_work_at_six_lengths_but_for_the_cubic_one() -> None:
    lengths: dict[str, set[int]] = {}
    for _, case in load_grid("quick").cases("cpu"):
        lengths.setdefault(case.work, set()).add(case.length_query)
    for work in ("layer", "projections", *GATED, "step"):
        assert len(lengths[work]) >= 6
        assert max(lengths[work]) >= 16 * min(lengths[work])
    assert max(lengths["sequence"]) >= 6 * min(lengths["sequence"])
