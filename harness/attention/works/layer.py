"""Layer: a multi-head layer and a recurrence of the same width: inputs, formula and oracle."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import torch

from harness.attention.agreement import (
    OUTPUT_FACTOR,
    Agreement,
    Group,
    Oracle,
    allowed,
    largest,
    require_finite,
    wrong_form,
)
from harness.attention.inputs import Inputs, keep_mask
from harness.attention.reference import Formula, by_rows, checked_rows, exact, plain
from harness.cases.case import Case
from harness.cases.costs import GATES

# A layer's matrices, each [width out, width in] as torch.nn.functional.linear takes them.
PRODUCTS = ("query", "key", "value", "output")
# (what the input adds to each gate [B, gates * width], the same of the state, state, memory)
# -> (state, memory), all [B, width]
Step = Callable[..., tuple[torch.Tensor, torch.Tensor]]


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


@dataclass
class Hidden:
    """Hold states [batch, length, width] and named weights; take a `fresh()` one per backend."""

    case: Case
    states: torch.Tensor
    weights: Mapping[str, torch.Tensor]
    mask_bytes: int = field(default=0)

    def fresh(self) -> Hidden:
        """Return a copy that shares the tensors and counts its own mask bytes."""
        return replace(self, mask_bytes=0)

    def keep(self) -> torch.Tensor:
        """Return a boolean mask [B or 1, 1, T, T], True where a query may look."""
        mask = keep_mask(self.case, device=self.states.device)
        self.mask_bytes += mask.numel()
        return mask


def draw_weight(case: Case, *shape: int, generator: torch.Generator) -> torch.Tensor:
    """Draw a matrix [out, in] that keeps the variance of what it is multiplied with.

    Drawn in float32 on the CPU, then cast and moved: the same numbers for every device.
    """
    weight = torch.randn(*shape, generator=generator) / math.sqrt(shape[-1])
    return weight.to(device=case.device, dtype=getattr(torch, case.dtype))


def make_hidden(case: Case, *, seed: int = 0) -> Hidden:
    """Draw standard normal states and the four matrices of a layer from one seed."""
    generator = torch.Generator().manual_seed(seed)
    states = torch.randn(case.batch, case.length_query, case.width, generator=generator)
    return Hidden(
        case=case,
        states=states.to(device=case.device, dtype=getattr(torch, case.dtype)),
        weights={
            name: draw_weight(case, case.width, case.width, generator=generator)
            for name in PRODUCTS
        },
    )


def layer_answer(hidden: Hidden) -> Answer:
    """Return the right output of the whole layer; above 4096 positions that of a subset."""
    rows = checked_rows(hidden.case.length_query)
    return Answer(
        layer_output(hidden, exact, dtype=torch.float64, rows=rows),
        layer_output(hidden, plain, dtype=hidden.states.dtype, rows=rows),
        length=hidden.case.length_query,
        rows=rows,
    )


def layer_output(
    hidden: Hidden, formula: Formula, *, dtype: torch.dtype, rows: torch.Tensor
) -> torch.Tensor:
    """Compute concat(heads) Wᴼ with head_h = softmax(X W_h^Q (X W_h^K)ᵀ / √d) X W_h^V.

    Returns [batch, rows, width] (Vaswani et al. 2017, 3.2.2).
    """
    query, key, value = (split_heads(each, hidden.case) for each in products(hidden, dtype)[:3])
    inputs = Inputs(case=hidden.case, query=query, key=key, value=value)
    heads = by_rows(inputs, formula, rows=rows, dtype=dtype)
    return heads.transpose(1, 2).flatten(2) @ hidden.weights["output"].to(dtype).mT


def products(hidden: Hidden, dtype: torch.dtype) -> list[torch.Tensor]:
    """Return X W^Q, X W^K, X W^V and (X W^V) Wᴼ: the four products without the attention."""
    states, weights = hidden.states.detach().to(dtype), hidden.weights
    found = [states @ weights[name].to(dtype).mT for name in PRODUCTS[:3]]
    return [*found, found[2] @ weights["output"].to(dtype).mT]


def split_heads(states: torch.Tensor, case: Case) -> torch.Tensor:
    """Turn [batch, length, width] into a view [batch, heads, length, dim]."""
    return states.view(*states.shape[:-1], case.heads, case.dim_key).transpose(1, 2)


def projections_answer(hidden: Hidden) -> Answer:
    """Return the right products, one after another: [4 batch, length, width]."""
    dtypes = (torch.float64, hidden.states.dtype)
    return Answer(*(torch.cat(products(hidden, dtype)) for dtype in dtypes))


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
