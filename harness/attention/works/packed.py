"""Packed: a padded batch without its padding: real tokens alone, sequence after sequence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import torch

from harness.attention.agreement import Agreement, Oracle, wrong_form
from harness.attention.inputs import Inputs, make_inputs
from harness.cases.case import Case
from harness.cases.masks import MASKS


@dataclass
class Packed:
    """Hold query, key and value [1, heads, tokens, dim] of sequences of `case.kept_keys()` tokens.

    The same numbers as in the padded inputs of the same case; padded queries are cut out as well
    as padded keys, so the answer has real tokens alone.
    """

    case: Case
    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    mask_bytes: int = field(default=0)

    def fresh(self) -> Packed:
        """Return a copy that shares the tensors and counts its own mask bytes."""
        return replace(self, mask_bytes=0)

    @property
    def causal(self) -> bool:
        """Whether a token sees only those of its sequence up to itself."""
        return MASKS[self.case.mask].causal is not None

    def sequences(self) -> Iterator[slice]:
        """Yield where each sequence lies among the tokens."""
        start = 0
        for length in self.case.kept_keys():
            yield slice(start, start + length)
            start += length


def make_packed(case: Case, *, seed: int = 0) -> Packed:
    """Draw the padded inputs of a case and cut the padding out."""
    padded = make_inputs(case, seed=seed)

    def cut(tensor: torch.Tensor) -> torch.Tensor:
        kept = zip(tensor, case.kept_keys(), strict=True)
        return torch.cat([entry[:, :length] for entry, length in kept], dim=1)[None]

    return Packed(case, cut(padded.query), cut(padded.key), cut(padded.value))


class PackedOracle:
    """Hold one oracle for each sequence; each sees its own tokens and no other's."""

    def __init__(self, packed: Packed) -> None:
        self.shape = tuple(packed.value.shape)
        self.dtype = packed.query.dtype
        self.parts = [(where, Oracle(_alone(packed, where))) for where in packed.sequences()]

    def check(self, output: torch.Tensor) -> Agreement:
        """Compare an output [1, heads, tokens, dim]; the first sequence that differs decides."""
        wrong = wrong_form(output, shape=self.shape, dtype=self.dtype)
        if wrong:
            return Agreement(agrees=False, reason=wrong)
        found = [oracle.check(output[:, :, where]) for where, oracle in self.parts]
        bad = next((number for number, one in enumerate(found) if not one.agrees), None)
        if bad is not None:
            return replace(found[bad], reason=f"sequence {bad}: {found[bad].reason}")
        return max(found, key=lambda one: one.error_ratio or 0.0)


def _alone(packed: Packed, where: slice) -> Inputs:
    """Return one sequence as the inputs of a case of its own, without padding."""
    length = where.stop - where.start
    mask = "causal" if packed.causal else "full"
    case = packed.case.with_(
        work="attention", batch=1, mask=mask, length_query=length, length_key=length
    )
    query, key, value = (t[:, :, where] for t in (packed.query, packed.key, packed.value))
    return Inputs(case, query, key, value)
