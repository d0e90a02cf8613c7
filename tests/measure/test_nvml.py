from types import SimpleNamespace

import pytest

from harness.measure.cards import card_facts, gpu_count, visible_cards
from tests.support.fakes import FakeNvml


@pytest.mark.parametrize(
    ("value", "cards"),
    [
        (None, [0, 1, 2]),
        ("", []),
        ("-1", []),
        ("NoDevFiles", []),
        ("2,0", [2, 0]),
        ("1, 2", [1, 2]),
        ("0,7,1", [0]),
        ("GPU-1a", [1]),
        ("GPU-", []),
    ],
)
def test_cards_follow_the_environment(value: str | None, cards: list[int]) -> None:
    environ = {} if value is None else {"CUDA_VISIBLE_DEVICES": value}
    assert visible_cards(FakeNvml(3), environ) == cards
    assert gpu_count(FakeNvml(3), environ) == len(cards)


def test_without_a_driver_there_is_nothing() -> None:
    assert visible_cards(None, {}) == []


def test_facts_leave_out_what_the_card_does_not_tell() -> None:
    found = card_facts(FakeNvml(), 0)
    assert found["name"] == "NVIDIA H200"
    assert found["driver"] == "570.1"
    assert found["power_limit_w"] == 700
    assert found["clock_sm_max_mhz"] == 1980
    assert found["mig"] is False
    assert card_facts(SimpleNamespace(), 0)["name"] is None
