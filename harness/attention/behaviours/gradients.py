"""Gradients and dtypes: what a backend gives back for training, and in which type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.attention.behaviours.behaviour import behaviour
from harness.cases.shape import DTYPE_CODES
from harness.records.record import Seen

if TYPE_CHECKING:
    from harness.attention.behaviours.subject import Subject


@behaviour("gradients", "gradients of query, key and value, causal")
def gradients(subject: Subject) -> Seen:
    """A random gradient of the output."""
    inputs = subject.inputs(20, mask="causal")
    return subject.gradients_agree(inputs, subject.draw(1, 2, 20, 16, seed=4))


@behaviour("transposed-output-gradient", "a gradient of the output that lies as [B, T, H, D]")
def transposed_output_gradient(subject: Subject) -> Seen:
    """What a projection after the heads sends back."""
    inputs = subject.inputs(20, batch=2)
    return subject.gradients_agree(inputs, subject.draw(2, 20, 2, 16, seed=4).transpose(1, 2))


@behaviour("expanded-output-gradient", "a gradient of the output of one number, stride 0")
def expanded_output_gradient(subject: Subject) -> Seen:
    """What `output.sum().backward()` sends back."""
    inputs = subject.inputs(20, mask="causal")
    return subject.gradients_agree(inputs, subject.tensor(1.0).expand(1, 2, 20, 16))


@behaviour("grouped-gradients", "gradients of shared key heads are summed over their query heads")
def grouped_gradients(subject: Subject) -> Seen:
    """Four query heads over two key heads."""
    inputs = subject.inputs(20, heads=4, heads_kv=2)
    return subject.gradients_agree(inputs, subject.draw(1, 4, 20, 16, seed=4))


@behaviour("padding-gradients", "padded keys and values get no gradient")
def padding_gradients(subject: Subject) -> Seen:
    """Two entries that keep different numbers of keys."""
    inputs = subject.inputs(12, batch=2, mask="padding")
    return subject.gradients_agree(inputs, subject.draw(2, 2, 12, 16, seed=4))


def _agrees_in(dtype: str) -> None:
    @behaviour(f"dtype-{dtype}", f"{dtype} agrees with the float64 oracle", dtypes=(dtype,))
    def check(subject: Subject) -> Seen:
        return subject.agrees(subject.inputs(48, mask="causal"))


for each in DTYPE_CODES:
    _agrees_in(each)
