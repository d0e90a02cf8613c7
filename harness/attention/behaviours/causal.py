"""Causal: who sees whom when lengths differ, and together with a mask (claim A5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.attention.behaviours.behaviour import behaviour, raw
from harness.records.record import Seen

if TYPE_CHECKING:
    from harness.attention.behaviours.subject import Subject


def seen_pattern(subject: Subject, mask: str, rows: int, keys: int) -> str:
    """Return which keys each row gives weight to, e.g. `100; 110; 111`; `?` for NaN."""
    from harness.attention.behaviours.example import weights_of

    found = weights_of(subject, subject.inputs(rows, keys, mask=mask, heads=1))
    signs = [["?" if w != w else "1" if w > 0 else "0" for w in row] for row in found.tolist()]
    return "; ".join("".join(row) for row in signs)


def pattern(subject: Subject, mask: str, rows: int, *, keys: int, right: str) -> Seen:
    """Compare the pattern of a mask with the right one."""
    found = seen_pattern(subject, mask, rows, keys)
    return Seen(right, found, found == right)


@behaviour("causal-sees-itself", "position i sees positions 0 to i, itself included", "A5")
def causal_sees_itself(subject: Subject) -> Seen:
    """Three positions."""
    return pattern(subject, "causal", 3, keys=3, right="100; 110; 111")


@behaviour("causal-is-a-triangle", "causal equals an explicit lower triangle", "A5")
def causal_is_a_triangle(subject: Subject) -> Seen:
    """Random inputs, the oracle with its own triangle."""
    return subject.agrees(subject.inputs(37, mask="causal"))


@behaviour("future-keys", "keys and values of the future change no past row", "A5")
def future_keys(subject: Subject) -> Seen:
    """Replace the second half by loud numbers."""
    from harness.attention.behaviours import invariants

    inputs = subject.inputs(20, mask="causal")
    subject.output(inputs)
    changed = invariants.future_keys(subject.backend, inputs.case)
    return Seen("unchanged", changed or "unchanged", changed is None)


@behaviour("causal-wide", "causal 2 x 5 is aligned top-left: 10000; 11000", "trouble-3")
def causal_wide(subject: Subject) -> Seen:
    """Fewer queries than keys."""
    return pattern(subject, "causal", 2, keys=5, right="10000; 11000")


@behaviour("causal-tall", "causal 5 x 2 is aligned top-left: 10; 11; 11; 11; 11", "trouble-3")
def causal_tall(subject: Subject) -> Seen:
    """More queries than keys."""
    return pattern(subject, "causal", 5, keys=2, right="10; 11; 11; 11; 11")


@behaviour("bottom-right-wide", "bottom-right 2 x 5 is 11110; 11111", "trouble-3")
def bottom_right_wide(subject: Subject) -> Seen:
    """Fewer queries than keys."""
    return pattern(subject, "causal-bottom-right", 2, keys=5, right="11110; 11111")


@behaviour("bottom-right-tall", "bottom-right 5 x 2 has three rows of 0", "trouble-1", "trouble-3")
def bottom_right_tall(subject: Subject) -> Seen:
    """More queries than keys: the first rows see none."""
    return pattern(subject, "causal-bottom-right", 5, keys=2, right="00; 00; 00; 10; 11")


@behaviour("decode", "one query against five keys, bottom-right, sees them all", "trouble-4")
def decode(subject: Subject) -> Seen:
    """The step of a decoder with a cache."""
    return pattern(subject, "causal-bottom-right", 1, keys=5, right="11111")


@behaviour("decode-is-causal", "is_causal with one query sees every key", "trouble-4")
def decode_is_causal(subject: Subject) -> Seen:
    """Call the library with is_causal, as people do in a decoder."""
    from harness.attention.behaviours.subject import same, show

    query, key = subject.draw(1, 2, 1, 16), subject.draw(1, 2, 5, 16, seed=1)
    value = subject.draw(1, 2, 5, 16, seed=2)
    right = raw(subject.backend, query, key, value)
    found = raw(subject.backend, query, key, value, is_causal=True)
    observed = "V[0] alone" if same(found, value[:, :, :1]) else show(found)
    if same(found, right):
        observed = "as without is_causal"
    return Seen("as without is_causal", observed, same(found, right))


@behaviour(
    "mask-and-is-causal", "attn_mask with is_causal: both hold, or an error", "trouble-6",
    may_raise=True,
)  # fmt: skip
def mask_and_is_causal(subject: Subject) -> Seen:
    """Hide key 1 of six and ask for causal as well."""
    import torch

    from harness.attention.behaviours.subject import same

    query, key, value = (subject.draw(1, 2, 6, 16, seed=seed) for seed in range(3))
    keep = torch.ones(1, 1, 6, 6, dtype=torch.bool, device=subject.device)
    keep[..., 1] = False
    found = raw(subject.backend, query, key, value, attn_mask=keep, is_causal=True)
    for name, mask in {"both": keep.tril(), "attn_mask alone": keep}.items():
        if same(found, raw(subject.backend, query, key, value, attn_mask=mask)):
            return Seen("both, or an error", name, name == "both")
    return Seen("both, or an error", "neither", False)
