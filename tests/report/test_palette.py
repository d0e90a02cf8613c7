from __future__ import annotations

from harness.report import palette


def test_known_backends_are_told_apart_without_colour() -> None:
    looks = [(look.marker, look.dashes, look.colour) for look in palette.STYLES.values()]
    assert len(set(looks)) == len(looks)


def test_a_family_is_told_apart_by_marker_or_line() -> None:
    for family in palette.FAMILIES:
        members = [
            (look.marker, look.dashes)
            for name, look in palette.STYLES.items()
            if name == family or name.startswith(f"{family}-")
        ]
        assert len(set(members)) == len(members), family


def test_a_stranger_always_looks_the_same() -> None:
    assert palette.style("my-kernel") == palette.style("my-kernel")
    assert palette.style("sdpa-mine").colour == palette.style("sdpa").colour


def test_order_is_fixed_and_strangers_come_last() -> None:
    names = ["zeta", "sdpa", "naive", "alpha", "naive"]
    assert palette.ordered(names) == ["naive", "sdpa", "alpha", "zeta"]
    assert palette.ordered_by(palette.MASK_STYLES, ["causal", "full"]) == ["full", "causal"]
