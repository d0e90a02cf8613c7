"""Text: what the toy model writes by itself, and the right logits of what it is given."""

from __future__ import annotations

from dataclasses import replace

import torch

from harness.attention.answer import Answer
from harness.attention.model import EXACT, PLAIN, Model, logits, make_model
from harness.case import Case


def make_text(case: Case, *, seed: int = 0) -> Model:
    """Make a model whose tokens are its own greedy continuation of a random first token.

    Then decoding step by step, each step fed with the token that it chose before, gives the same
    logits as one pass over the whole text, and only then.
    """
    model = make_model(case, seed=seed)
    return replace(model, tokens=greedy(model))


def greedy(model: Model) -> torch.Tensor:
    """Return the greedy tokens [batch, length] in float64 as the fixed point of whole passes.

    Pass n makes token n right whatever the others were, so as many passes as tokens are enough,
    and mostly far fewer (Jacobi decoding; Song et al. 2021).
    """
    tokens = model.tokens
    for _ in range(tokens.shape[1]):
        chosen = logits(replace(model, tokens=tokens), EXACT, dtype=torch.float64).argmax(-1)
        following = torch.cat([tokens[:, :1], chosen[:, :-1]], 1)
        if torch.equal(following, tokens):
            break
        tokens = following
    return tokens


@torch.no_grad()
def sequence_answer(model: Model) -> Answer:
    """Return the right logits at every position [batch, length, vocabulary]."""
    return Answer(
        logits(model, EXACT, dtype=torch.float64),
        logits(model, PLAIN, dtype=model.embedding.dtype),
    )


def step_answer(model: Model) -> Answer:
    """Return the right logits at the last position alone [batch, 1, vocabulary]."""
    end = torch.tensor([model.case.length_query - 1])
    return Answer(
        logits(model, EXACT, dtype=torch.float64, rows=end),
        logits(model, PLAIN, dtype=model.embedding.dtype, rows=end),
    )
