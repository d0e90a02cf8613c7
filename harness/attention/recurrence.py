"""Recurrence: weights of RNN, GRU and LSTM, and their right outputs, one step after another."""

from __future__ import annotations

from collections.abc import Callable

import torch

from harness.attention.answer import Answer
from harness.attention.hidden import Hidden, draw_weight, make_hidden
from harness.case import Case
from harness.work_costs import GATES

# (what the input adds to each gate [B, gates * width], the same of the state, state, memory)
# -> (state, memory), all [B, width]
Step = Callable[..., tuple[torch.Tensor, torch.Tensor]]


def make_recurrent(case: Case, *, seed: int = 0) -> Hidden:
    """Draw states [batch, length, width] and the weights of one recurrent layer in torch's form.

    `weight_ih` and `weight_hh` [gates * width, width], `bias_ih` and `bias_hh` [gates * width].
    """
    hidden = make_hidden(case, seed=seed)
    generator = torch.Generator().manual_seed(seed + 1)
    rows = GATES[case.work] * case.width
    weights = {
        name: draw_weight(case, rows, case.width, generator=generator)
        for name in ("weight_ih", "weight_hh")
    }
    biases = {
        name: draw_weight(case, rows, generator=generator).mul_(rows**0.5 / 4)
        for name in ("bias_ih", "bias_hh")
    }
    hidden.weights = weights | biases
    return hidden


def recurrent_answer(hidden: Hidden) -> Answer:
    """Return the right states at every position."""
    step = STEPS[hidden.case.work]
    return Answer(
        unroll(hidden, step, dtype=torch.float64), unroll(hidden, step, dtype=hidden.states.dtype)
    )


def unroll(hidden: Hidden, step: Step, *, dtype: torch.dtype) -> torch.Tensor:
    """Take one step per position from a zero state; returns [batch, length, width]."""
    states = hidden.states.detach().to(dtype)
    weights = {name: weight.detach().to(dtype) for name, weight in hidden.weights.items()}
    state = memory = torch.zeros_like(states[:, 0])
    outputs = []
    for position in range(states.shape[1]):
        fed = states[:, position] @ weights["weight_ih"].mT + weights["bias_ih"]
        kept = state @ weights["weight_hh"].mT + weights["bias_hh"]
        state, memory = step(fed, kept, state, memory)
        outputs.append(state)
    return torch.stack(outputs, 1)


def rnn_step(
    fed: torch.Tensor, kept: torch.Tensor, state: torch.Tensor, memory: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Elman (1990): h' = tanh(W x + b + U h + c)."""
    return torch.tanh(fed + kept), memory


def gru_step(
    fed: torch.Tensor, kept: torch.Tensor, state: torch.Tensor, memory: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Cho et al. (2014), as torch.nn.GRU: the reset gate multiplies U h + c, not h."""
    (reset_x, update_x, new_x), (reset_h, update_h, new_h) = fed.chunk(3, -1), kept.chunk(3, -1)
    update = torch.sigmoid(update_x + update_h)
    new = torch.tanh(new_x + torch.sigmoid(reset_x + reset_h) * new_h)
    return (1 - update) * new + update * state, memory


def lstm_step(
    fed: torch.Tensor, kept: torch.Tensor, state: torch.Tensor, memory: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Hochreiter and Schmidhuber (1997) with a forget gate; gates in torch's order i, f, g, o."""
    enter, forget, new, leave = (fed + kept).chunk(4, -1)
    memory = torch.sigmoid(forget) * memory + torch.sigmoid(enter) * torch.tanh(new)
    return torch.sigmoid(leave) * torch.tanh(memory), memory


STEPS: dict[str, Step] = {"rnn": rnn_step, "gru": gru_step, "lstm": lstm_step}
