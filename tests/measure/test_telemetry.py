import pytest

from harness.measure.cards import Reading, card_flags, must_cool, read_card
from tests.support.fakes import FakeNvml


@pytest.fixture(autouse=True)
def _all_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def test_a_reading_in_its_units() -> None:
    assert read_card(1, nvml=FakeNvml(2, temperature=61)) == Reading(1500, 3201, 350.5, 61, ())


def test_a_card_that_is_not_there_gives_nothing() -> None:
    assert read_card(2, nvml=FakeNvml(2)) is None
    assert card_flags(None, None) == ()
    assert not must_cool(None, None)


@pytest.mark.parametrize(
    ("mask", "capped", "cool"),
    [
        (0, (), False),
        (0x1 | 0x2, (), False),
        (0x4, ("power_capped",), False),
        (0x20, (), True),
        (0x8 | 0x40, (), True),
        (0x84, ("power_capped",), True),
    ],
)
def test_reasons_become_flags(mask: int, capped: tuple[str, ...], *, cool: bool) -> None:
    quiet = read_card(0, nvml=FakeNvml())
    held = read_card(0, nvml=FakeNvml(reasons=mask))
    for pair in ((quiet, held), (held, quiet), (None, held)):
        assert card_flags(*pair) == capped
        assert must_cool(*pair) is cool


def test_both_names_of_the_question_are_known() -> None:
    nvml = FakeNvml(reasons=0x4)
    nvml.nvmlDeviceGetCurrentClocksEventReasons = lambda card: 0x20  # type: ignore[attr-defined]
    reading = read_card(0, nvml=nvml)
    assert reading is not None
    assert reading.reasons == ("thermal_slowdown",)
