"""Answer: the right output of a work that ends in [batch, length, features], and its tolerance."""

from __future__ import annotations

import torch

from harness.attention.agreement import OUTPUT_FACTOR, Agreement, Group, Oracle, largest
from harness.attention.tolerance import allowed, require_finite, wrong_form


class Answer(Oracle):
    """Hold a float64 output and the error that the same formula makes in the work's own dtype.

    Positions are judged in octaves (1, 2 to 3, 4 to 7 ..): under a causal mask outputs shrink
    with the position, so the first would excuse any error in the last.
    """

    def __init__(
        self,
        reference: torch.Tensor,
        rough: torch.Tensor,
        *,
        length: int | None = None,
        rows: torch.Tensor | None = None,
    ) -> None:
        """Take both as [batch, rows, features]; `rows` are positions of `length`, default all.

        `reference` is float64, `rough` in the dtype of the outputs. ValueError when the reference
        is not finite: that is an error of the case.
        """
        require_finite(reference)
        batch, count, features = reference.shape
        self.shape = (batch, 1, length or count, features)
        self.dtype = rough.dtype
        self.rows = torch.arange(count) if rows is None else rows.cpu()
        self.reference = reference[:, None]
        self.groups = self._groups((rough.double() - reference)[:, None])

    def _groups(self, error: torch.Tensor) -> list[Group]:
        """Set what is allowed in each octave by the error [batch, 1, rows, features]."""
        octaves: dict[int, list[int]] = {}
        for index, row in enumerate(self.rows.tolist()):
            octaves.setdefault((row + 1).bit_length(), []).append(index)
        indices = [torch.tensor(octave) for octave in octaves.values()]
        sizes, errors = largest(self.reference, indices), largest(error, indices)
        return [
            Group(
                index=index,
                scale=size,
                size=size,
                tolerance=allowed(rough, size, dtype=self.dtype, factor=OUTPUT_FACTOR),
                formula=rough,
            )
            for index, size, rough in zip(indices, sizes, errors, strict=True)
        ]

    def check(self, output: torch.Tensor) -> Agreement:
        """Compare an output [batch, length, features]; NaN, a wrong shape or dtype never agree."""
        batch, _, length, features = self.shape
        wrong = wrong_form(output, shape=(batch, length, features), dtype=self.dtype)
        if wrong:
            return Agreement(agrees=False, reason=wrong)
        return super().check(output[:, None])
