"""Work: what a case computes, as its inputs and its oracle; attention alone is the first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from harness.attention.agreement import Agreement, Oracle
from harness.attention.inputs import make_inputs


class Judge(Protocol):
    """What all outputs of one case are compared with."""

    def check(self, output: torch.Tensor) -> Agreement:
        """Say whether an output agrees."""


@dataclass(frozen=True)
class Work:
    """Pair the inputs of a work with its oracle.

    `make_inputs(case, seed=)` returns an object with `case`, `mask_bytes` and `fresh()`, which is
    what `Backend.prepare` gets; `make_oracle(inputs)` computes the right output, once per case.
    """

    make_inputs: Callable[..., Any]
    make_oracle: Callable[[Any], Judge]


WORKS = {"attention": Work(make_inputs, Oracle)}
