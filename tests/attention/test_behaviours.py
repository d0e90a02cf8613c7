"""Behaviours: right ones conform, each planted fault is caught, torch's own faults are seen."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch

from harness.attention.backend import Backend, Unsupported
from harness.attention.backends import BACKENDS
from harness.attention.behaviours import BEHAVIOURS
from harness.attention.behaviours.known import Known, known_deviations, with_known
from harness.cases.shape import DTYPE_CODES
from harness.measure.questions import examine
from harness.records.record import Finding
from harness.run.settings import questions
from tests.support import faulty_backends as faults

HERE = ("naive", "rowwise", "tiled", "sdpa", "sdpa-math", "sdpa-flash")
NEW_TORCH = tuple(map(int, torch.__version__.split("+")[0].split(".")[:2])) >= (2, 13)


def ask(backend: Backend | None, behaviour: str) -> Finding:
    return examine(backend, BEHAVIOURS[behaviour], "cpu")


def verdict(backend: str, behaviour: str) -> str:
    return ask(BACKENDS[backend], behaviour).verdict


def test_ids_and_sources_are_well_formed() -> None:
    for name, behaviour in BEHAVIOURS.items():
        assert re.fullmatch(r"[a-z0-9-]+", name)
        assert name == behaviour.id
        assert all(re.fullmatch(r"[AB]\d+|trouble-\d+", source) for source in behaviour.sources)
        assert set(behaviour.dtypes) & set(DTYPE_CODES) == set(behaviour.dtypes) != set()
    sources = {source for one in BEHAVIOURS.values() for source in one.sources}
    assert {f"trouble-{row}" for row in range(1, 14)} <= sources
    assert {f"A{row}" for row in (*range(1, 11), 13)} | {"B1", "B2"} <= sources


@pytest.mark.parametrize("name", HERE)
def test_every_behaviour_is_answered_and_every_fault_is_known(name: str) -> None:
    for behaviour in BEHAVIOURS.values():
        if not behaviour.alone:
            found = with_known(ask(BACKENDS[name], behaviour.id))
            assert found.known or not found.wrong, found
            assert found.expected
            assert found.verdict != "refuses" or found.reason
            assert not (found.reason or "").startswith("gone: ") or not NEW_TORCH, found


@pytest.mark.parametrize("name", [one.id for one in BEHAVIOURS.values() if one.alone])
def test_what_is_asked_of_torch_itself_conforms(name: str) -> None:
    found = ask(None, name)
    assert found.verdict == "conforms", found
    assert found.backend == "torch"


@pytest.mark.parametrize("name", HERE)
def test_claims_hold_for_every_backend_here(name: str) -> None:
    claims = [b for b in BEHAVIOURS.values() if not b.alone and any("A" in s for s in b.sources)]
    found = [ask(BACKENDS[name], one.id) for one in claims]
    assert {one.verdict for one in found} <= {"conforms", "refuses"}
    assert sum(one.verdict == "conforms" for one in found) >= 15


@pytest.mark.parametrize(
    ("function", "caught"),
    [
        (faults.upside_down_mask, ["causal-sees-itself", "causal-is-a-triangle", "future-keys"]),
        (faults.inverted_mask, ["mask-polarity", "padding-hides-keys", "mask-before-softmax"]),
        (faults.sees_one_less, ["causal-sees-itself", "causal-is-a-triangle", "decode"]),
        (faults.mask_after_softmax, ["mask-before-softmax", "causal-is-a-triangle", "padding"]),
        (faults.no_scale, ["shapes", "cross-attention", "multi-head", "dtype-float64"]),
        (faults.gives_nan, ["worked-example", "shapes", "one-position", "rows-are-independent"]),
        (faults.mean_of_values, ["worked-example", "weights-sum-to-one", "cross-attention"]),
        (faults.unnormalised, ["weights-sum-to-one", "worked-example", "one-position"]),
        (faults.waits_for_the_row_before, ["rows-are-independent", "values-reach-allowed-rows"]),
        (faults.swaps_heads, ["shapes", "multi-head"]),
        (faults.hides_nan, ["nan-query", "nan-row", "nan-value"]),
        (faults.zero_for_padding, ["padding-rows-still-answer", "padding"]),
        (faults.overflows, ["float16-overflow"]),
        (faults.first_key_of_each_tile, ["length-65", "length-1000", "one-query"]),
        (faults.forgets_a_term, ["gradients", "transposed-output-gradient", "padding-gradients"]),
    ],
)
def test_a_planted_fault_is_caught(function: Any, caught: list[str]) -> None:
    for behaviour in caught:
        assert ask(faults.fault(faults.honest), behaviour).verdict == "conforms", behaviour
        assert ask(faults.fault(function), behaviour).verdict == "deviates", behaviour


def test_an_error_is_a_deviation_unless_an_error_is_right() -> None:
    broken = faults.fault(faults.raises)
    assert ask(broken, "shapes").verdict == "refuses", "a user's own backend may lack anything"
    type(broken).name = "naive"
    found = ask(broken, "shapes")
    assert found.verdict == "deviates"
    assert found.observed == "raises RuntimeError: the kernel is not built for this shape"
    assert ask(broken, "layout-mix-up").verdict == "refuses"


@pytest.mark.skipif(not NEW_TORCH, reason="seen on torch 2.13")
@pytest.mark.parametrize(
    ("backend", "behaviour", "observed"),
    [
        ("sdpa-flash", "scale-zero-causal", "NaN or infinity in 1 of 2 rows, row 0 first"),
        ("sdpa-flash", "scale-negative-causal", "NaN or infinity in 1 of 2 rows, row 0 first"),
        ("sdpa-flash", "nan-query", "160 of 160 finite: [0, 0, 0, 0, 0, 0, ...]"),
        ("sdpa-flash", "nan-row", "no row is NaN"),
        ("sdpa-flash", "float16-minimum-mask", "the unmasked result"),
        ("sdpa-math", "float16-minimum-mask", "the unmasked result"),
        ("sdpa-math", "decode-is-causal", "V[0] alone"),
        ("naive", "empty-row", "NaN"),
        ("naive", "empty-row-gradients", "128 NaN or infinite values"),
        ("naive", "hidden-nan-value", "256 of 256 NaN or infinite"),
        ("tiled", "layout-mix-up", "no error, wrong by 3"),
    ],
)
def test_what_torch_does_on_a_cpu_is_seen(backend: str, behaviour: str, observed: str) -> None:
    found = with_known(ask(BACKENDS[backend], behaviour))
    assert (found.verdict, found.observed) == ("deviates", observed)
    assert found.known


@pytest.mark.skipif(not NEW_TORCH, reason="seen on torch 2.13")
def test_where_a_kernel_is_right_or_refuses() -> None:
    for behaviour in ("scale-zero-causal", "nan-query", "empty-row", "scale-zero-explicit-mask"):
        assert verdict("sdpa-math", behaviour) == "conforms", behaviour
    assert verdict("sdpa-flash", "scale-zero-explicit-mask") == "conforms"
    assert verdict("sdpa-flash", "mask-and-is-causal") == "conforms"
    assert verdict("naive", "float16-minimum-mask") == "conforms"
    found = ask(BACKENDS["sdpa-math"], "mask-and-is-causal")
    assert found.verdict == "refuses"
    assert "is_causal=True" in str(found.reason)
    found = ask(BACKENDS["sdpa-flash"], "value-dim-differs")
    assert found.verdict == "refuses"
    assert "same last dimension" in str(found.reason)


def test_a_backend_without_own_masks_refuses_and_names_why() -> None:
    found = ask(BACKENDS["tiled"], "mask-polarity")
    assert (found.verdict, found.observed) == ("refuses", None)
    assert "no mask of one's own" in str(found.reason)


def test_the_next_dtype_is_asked_where_one_is_refused() -> None:
    class Half(type(BACKENDS["naive"])):  # type: ignore[misc]
        def unsupported(self, case: Any) -> str | None:
            return None if case.dtype == "float16" else "float16 only"

    found = examine(Half(), BEHAVIOURS["shapes"], "cpu")
    assert (found.verdict, found.dtype) == ("conforms", "float16")
    found = examine(Half(), BEHAVIOURS["dtype-float32"], "cpu")
    assert (found.verdict, found.reason) == ("refuses", "float16 only")


def test_a_risky_question_is_asked_in_a_child_only() -> None:
    found = examine(BACKENDS["naive"], BEHAVIOURS["no-key"], "cpu", in_child=False)
    assert found.verdict == "refuses"
    assert ask(BACKENDS["naive"], "no-key").verdict == "conforms"


def test_flex_is_asked_only_where_it_is_listed() -> None:
    assert not any(one.backend == "flex" for one in questions(BACKENDS))
    assert any(one.backend == "flex" for one in questions(["flex"], compiled=["flex"]))
    alone = [one for one in questions([]) if one.backend == "torch"]
    assert len(alone) == sum(one.alone for one in BEHAVIOURS.values())


def test_raw_calls_are_refused_where_there_is_no_function() -> None:
    from harness.attention.behaviours.behaviour import raw

    tensors = [torch.ones(1, 1, 2, 4)] * 3
    with pytest.raises(Unsupported, match="no function of its own"):
        raw(BACKENDS["rowwise"], *tensors)


# --- known deviations ---


def finding(verdict: str, **fields: Any) -> Finding:
    values = {"backend": "sdpa-flash", "behaviour": "nan-query", "device": "cpu"} | fields
    return Finding(**values, dtype="float32", verdict=verdict)


FLASH = Known(
    backends=("sdpa-flash",), behaviour="nan-*", device="cpu", library="torch",
    versions=">=2.11,<2.14", note="zeros for NaN", link="https://example.org/1",
)  # fmt: skip


@pytest.mark.parametrize(
    ("seen", "version", "starts"),
    [
        ("deviates", "2.13.0+cpu", "known: zeros for NaN (torch >=2.11,<2.14), https"),
        ("crashes", "2.13.0", "known: "),
        ("deviates", "2.14.0", ""),
        ("conforms", "2.13.0", "gone: zeros for NaN"),
        ("conforms", "2.14.0", ""),
        ("refuses", "2.13.0", ""),
    ],
)
def test_a_known_fault_is_told_from_a_new_one_and_from_one_that_is_gone(
    seen: str, version: str, starts: str
) -> None:
    found = with_known(finding(seen), (FLASH,), {"torch": version})
    assert found.known is starts.startswith("known: ")
    assert (found.reason or "").startswith(starts)
    assert bool(found.reason) == bool(starts)


@pytest.mark.parametrize(
    "fields", [{"backend": "sdpa-math"}, {"behaviour": "shapes"}, {"device": "cuda"}]
)
def test_a_known_fault_covers_no_other(fields: dict[str, str]) -> None:
    assert not with_known(finding("deviates", **fields), (FLASH,), {"torch": "2.13.0"}).known
    assert not with_known(finding("deviates"), (FLASH,), {}).known, "the library is not there"


def test_a_users_own_backend_is_forgiven_what_libraries_are_known_for() -> None:
    found = with_known(finding("deviates", backend="mine"), (FLASH,), {})
    assert (found.reason or "").startswith("known: of sdpa-flash: zeros for NaN")
    assert not with_known(finding("deviates", backend="mine", behaviour="shapes"), (FLASH,)).known
    assert with_known(finding("conforms", backend="mine"), (FLASH,)).reason is None
    own = faults.fault(faults.honest)
    for behaviour in (one for one in BEHAVIOURS.values() if not one.alone):
        found = with_known(ask(own, behaviour.id))
        assert found.known or not found.wrong, found


def test_the_list_names_behaviours_that_exist() -> None:
    from fnmatch import filter as matching

    for known in known_deviations():
        assert matching(BEHAVIOURS, known.behaviour), known
        assert all(matching(BACKENDS, pattern) for pattern in known.backends), known
        assert known.note
        assert bool(known.library) == bool(known.versions)


# --- numerics ---


def test_the_variance_of_scores_grows_as_the_dimension() -> None:
    from harness.attention.behaviours.numerics import variance_slope

    slope, half = variance_slope(scaled=False)
    assert slope == pytest.approx(1.0, abs=2 * half)
    assert half < 0.01
    assert variance_slope(scaled=True)[0] == pytest.approx(slope - 1.0, abs=1e-6)


def test_softmax_of_unscaled_scores_concentrates() -> None:
    from harness.attention.behaviours.numerics import softmax_at

    near, far = softmax_at(1, scaled=False), softmax_at(1024, scaled=False)
    assert near.weight < 0.15 < 0.9 < far.weight
    assert far.entropy < near.entropy / 10
    assert far.gradient < near.gradient
    flat = [softmax_at(dim, scaled=True) for dim in (16, 1024)]
    assert flat[0].gradient == pytest.approx(flat[1].gradient, rel=0.05)
    # 64 keys with scores of a standard normal: the largest weight is about 0.11.
    assert flat[1].weight == pytest.approx(0.11, abs=0.01)
