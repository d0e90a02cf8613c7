"""Peaks of known laws, most of them measured on a CPU (B=1 H=4 D=64 float32)."""

import math
from collections.abc import Callable

import pytest

from harness.analysis.claims.growth import judge_memory
from harness.analysis.fits.memory_fit import MemoryFit, fit_memory

LENGTHS = [64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096]
Law = Callable[[int], float]


def naive(length: int) -> float:
    return 32 * length**2


def math_kernel(length: int) -> float:
    return 36 * length**2 + 1028 * length + 4


def flash(length: int) -> float:
    """Take blocks of 32 query rows by all keys below 768, 256 by 512 from there."""
    if length < 768:
        return 1040 * length + 4 * 32 * length + 70_000
    return 1040 * length + 591_872


def rowwise(length: int) -> float:
    return 2048 * length


def tiled(length: int) -> float:
    """Take blocks of 128 by 256, cut off where the sequence is shorter."""
    if length < 512:
        return 1024 * length + 8 * min(length, 128) * min(length, 256) * 4
    return 1024 * length + 2_367_488


def fit(law: Law, *, rounding: int = 0) -> MemoryFit:
    return fit_memory(LENGTHS, [law(length) for length in LENGTHS], rounding=rounding)


@pytest.mark.parametrize(
    ("law", "coefficients", "first", "matrices"),
    [
        (naive, (0, 0, 32), 64, 2.0),
        (math_kernel, (4, 1028, 36), 64, 2.25),
        (flash, (591_872, 1040, 0), 768, 0.0),
        (rowwise, (0, 2048, 0), 64, 0.0),
        (tiled, (2_367_488, 1024, 0), 512, 0.0),
    ],
)
def test_measured_laws_come_out_to_the_byte(
    law: Law, coefficients: tuple[float, float, float], first: int, matrices: float
) -> None:
    found = fit(law)
    assert found.exact
    assert found.reason is None
    assert found.coefficients == pytest.approx(coefficients, abs=1e-3)
    assert found.lengths[0] == first
    assert found.lengths_dropped == tuple(length for length in LENGTHS if length < first)
    assert found.worst_error == pytest.approx(0, abs=1e-9)
    matrices_alive = found.score_matrices(batch=1, heads=4, itemsize=4)
    assert matrices_alive == pytest.approx(matrices, abs=1e-9)


@pytest.mark.parametrize(
    ("law", "linear", "quadratic"),
    [
        (naive, "refuted", "supported"),
        (math_kernel, "refuted", "supported"),
        (flash, "supported", "refuted"),
        (rowwise, "supported", "refuted"),
        (tiled, "supported", "refuted"),
    ],
)
def test_each_law_supports_its_own_power_alone(law: Law, linear: str, quadratic: str) -> None:
    assert judge_memory(fit(law), 1)[0] == linear
    assert judge_memory(fit(law), 2)[0] == quadratic


def test_the_exponent_leaves_the_constant_out() -> None:
    assert fit(tiled).exponent == pytest.approx(1.0)
    assert fit(tiled).shares["constant"] == pytest.approx(2_367_488 / (1024 * 4096 + 2_367_488))
    top = 36 * 4096 / (36 * 4096 + 1028)
    assert fit(math_kernel).exponent == pytest.approx(1 + top)
    assert (fit(math_kernel).power, fit(tiled).power) == (2, 1)


def test_rounding_to_512_bytes_adds_no_term() -> None:
    def rounded(length: int) -> float:
        return math.ceil(1028 * length / 512) * 512

    assert fit(rounded, rounding=512).coefficients[2] == 0
    assert judge_memory(fit(rounded, rounding=512), 1)[0] == "supported"

    def squared(length: int) -> float:
        return math.ceil((36 * length**2 + 1028 * length + 4) / 512) * 512

    found = fit(squared, rounding=512)
    assert found.score_matrices(batch=1, heads=4, itemsize=4) == pytest.approx(2.25, abs=1e-3)
    assert judge_memory(found, 2)[0] == "supported"


def test_a_law_within_one_percent_counts_but_is_not_exact() -> None:
    wobble = [0.996, 1.004, 1.0, 0.997, 1.002, 0.998, 1.003, 1.0, 0.996, 1.0, 1.003, 0.998, 1.0]
    peaks = [32 * t**2 * w for t, w in zip(LENGTHS, wobble, strict=True)]
    found = fit_memory(LENGTHS, peaks)
    assert not found.exact
    assert found.worst_error is not None
    assert 1e-4 < found.worst_error <= 0.01
    assert found.coefficients == (0, 0, pytest.approx(32, rel=0.005))
    assert judge_memory(found, 2)[0] == "supported"


def test_a_small_quadratic_term_in_an_exact_law_is_seen() -> None:
    """A byte mask beside much linear memory rules neither way at these lengths."""
    found = fit(lambda length: 20_000 * length + length**2)
    assert found.coefficients == pytest.approx((0, 20_000, 1), abs=1e-3)
    assert judge_memory(found, 2)[0] == "inconclusive"
    assert judge_memory(found, 2)[1].startswith("mixed: ")
    assert judge_memory(found, 1)[0] == "refuted"
    tiny = fit(lambda length: 200_000 * length + length**2)
    assert judge_memory(tiny, 1)[0] == "inconclusive"


def test_an_exact_law_may_hold_a_negative_term() -> None:
    found = fit(lambda length: 4 * length * (length - 1) // 2 + 8192)
    assert found.coefficients == pytest.approx((8192, -2, 2), abs=1e-3)
    assert judge_memory(found, 2)[0] == "supported"


def test_constant_memory_has_exponent_zero() -> None:
    found = fit(lambda length: 1_000_000)
    assert (found.degree, found.power, found.exponent) == (0, 0, 0.0)
    assert judge_memory(found, 0)[0] == "supported"
    assert judge_memory(found, 1)[0] == "refuted"


@pytest.mark.parametrize(
    ("lengths", "peaks"),
    [
        ([64, 128, 256], [1, 2, 4]),
        ([64, 96, 128, 192], [1, 2, 3, 4]),
        ([64, 128, 256, 512, 1024], [1, None, math.nan, 0, 5]),
        ([], []),
    ],
)
def test_few_points_judge_nothing(lengths: list[int], peaks: list[float | None]) -> None:
    found = fit_memory(lengths, peaks)
    assert found.reason == "few"
    assert (found.exponent, found.power, found.degree, found.shares) == (None, None, None, {})
    assert math.isnan(found.score_matrices(batch=1, heads=1, itemsize=4))
    verdict, reason = judge_memory(found, 2)
    assert verdict == "inconclusive"
    assert reason.startswith("few: ")


def test_missing_lengths_at_the_end_do_not_count() -> None:
    peaks = [32.0 * t**2 if t <= 1024 else None for t in LENGTHS]
    found = fit_memory(LENGTHS, peaks)
    assert found.lengths == tuple(LENGTHS[:9])
    assert found.coefficients == pytest.approx((0, 0, 32))


def test_peaks_without_a_law_are_a_misfit() -> None:
    found = fit_memory(LENGTHS, [t**2 * (1 + 0.3 * (i % 2)) for i, t in enumerate(LENGTHS)])
    assert found.reason == "misfit"
    assert judge_memory(found, 2)[0] == "inconclusive"
    assert judge_memory(found, 2)[1].startswith("misfit: ")


def test_the_sentence_names_the_range_and_the_axis() -> None:
    squares = judge_memory(fit(naive), 2)[1]
    assert squares == "inside: e* = 2.00 over T in [64, 4096], led by the T² term"
    heads = fit_memory([1, 2, 4, 8], [100, 200, 400, 800])
    assert (
        judge_memory(heads, 1, axis="H")[1]
        == "inside: e* = 1.00 over H in [1, 8], led by the H term"
    )


@pytest.mark.parametrize(
    ("lengths", "peaks", "message"),
    [
        ([64, 64, 128], [1, 2, 3], r"\[64\] came twice"),
        ([64, 128], [1], "2 lengths need as many"),
        ([0, 128], [1, 2], "above 0, got 0"),
    ],
)
def test_bad_lengths_are_refused(lengths: list[int], peaks: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit_memory(lengths, peaks)


def test_another_power_is_refused() -> None:
    with pytest.raises(ValueError, match="powers 0, 1 and 2, not 3"):
        judge_memory(fit(naive), 3)


def test_three_points_met_to_the_byte_by_two_terms_are_a_law() -> None:
    lengths = [64, 128, 256, 512, 1024, 2048, 4096]
    tile = [83_200, 172_288, 349_000, 700_001]
    peaks = [*tile, *(1040 * length + 591_872 for length in lengths[4:])]
    fit = fit_memory(lengths, peaks)
    assert fit.lengths == (1024, 2048, 4096)
    assert fit.coefficients == pytest.approx((591_872, 1040, 0))


def test_three_points_off_by_a_byte_or_two_are_no_law() -> None:
    lengths = [64, 128, 256, 512, 1024, 2048, 4096]
    tile = [83_200, 172_288, 349_000, 700_001]
    bent = [1040 * 1024 + 591_872, 1040 * 2048 + 591_872 + 100_000, 1040 * 4096 + 591_872]
    assert fit_memory(lengths, [*tile, *bent]).reason == "misfit"
