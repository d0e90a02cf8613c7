"""Works: what can be computed beside attention alone: its inputs and its oracle, one list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from harness.attention.agreement import Agreement, Oracle
from harness.attention.gradients import GradientOracle, leaves
from harness.attention.inputs import make_inputs
from harness.attention.works.layer import (
    layer_answer,
    make_hidden,
    make_recurrent,
    projections_answer,
    recurrent_answer,
)
from harness.attention.works.model import (
    ModelGradients,
    make_model,
    make_text,
    sequence_answer,
    step_answer,
)
from harness.attention.works.model import leaves as model_leaves
from harness.attention.works.packed import PackedOracle, make_packed


class Judge(Protocol):
    """What all outputs of one case are compared with."""

    def check(self, output: torch.Tensor) -> Agreement:
        """Say whether an output agrees."""


class GradientJudge(Protocol):
    """What the gradients of all backends of one case are compared with."""

    def check(self, gradients: Sequence[torch.Tensor | None]) -> Agreement:
        """Say whether the gradients agree, and name the one that does not."""


@dataclass(frozen=True)
class Training:
    """Say what backward needs of a work.

    `leaves(inputs)` are the tensors that get gradients; `make_oracle(inputs, grad_output)` makes
    the right gradients for a gradient of the output, once per case, in the order of the leaves.
    """

    leaves: Callable[[Any], tuple[torch.Tensor, ...]]
    make_oracle: Callable[[Any, torch.Tensor], GradientJudge]


@dataclass(frozen=True)
class Work:
    """Pair the inputs of a work with its oracle.

    `make_inputs(case, seed=)` returns an object with `case`, `mask_bytes` and `fresh()`, which is
    what `Backend.prepare` gets; `make_oracle(inputs)` computes the right output, once per case.
    A work without `training` is measured forward only.
    """

    make_inputs: Callable[..., Any]
    make_oracle: Callable[[Any], Judge]
    training: Training | None = None


WORKS = {
    "attention": Work(make_inputs, Oracle, Training(leaves, GradientOracle)),
    "packed": Work(make_packed, PackedOracle),
    "layer": Work(make_hidden, layer_answer),
    "projections": Work(make_hidden, projections_answer),
    "rnn": Work(make_recurrent, recurrent_answer),
    "gru": Work(make_recurrent, recurrent_answer),
    "lstm": Work(make_recurrent, recurrent_answer),
    "sequence": Work(make_text, sequence_answer, Training(model_leaves, ModelGradients)),
    "step": Work(make_model, step_answer),
}
