"""Exact claims: what the article says that holds or does not, as data (A1 to A10, A13, B)."""

from __future__ import annotations

from harness.analysis.evidence import Claim, Scope
from harness.analysis.exact import exact_rule


def _claim(id: str, sentence: str, prediction: str) -> Claim:
    return Claim(
        id=id,
        sentence=sentence,
        quantity="values",
        series="conformance table",
        prediction=prediction,
        scope=Scope(()),
        rule=exact_rule,
    )


EXACT: tuple[Claim, ...] = (
    _claim("A1", "one matrix product = row by row = the library's attention", "17/3, equal rows"),
    _claim("A2", "the weights of one query sum to 1", "1/6, 2/6, 3/6"),
    _claim("A3", "a mask acts before softmax, not after", "1/3, 2/3, 0 and not 1/6, 2/6, 0"),
    _claim(
        "A4",
        "an additive 0/-inf mask = a boolean keep mask",
        "equal; True keeps in SDPA and drops in key_padding_mask",
    ),
    _claim("A5", "causal: position i sees 0..i, itself included", "a lower triangle"),
    _claim(
        "A6",
        "a row with every key forbidden is undefined",
        "naive NaN, a finite minimum the mean of V, others their own rule",
    ),
    _claim(
        "A7",
        "padding hides PAD as keys; PAD query rows still give output",
        "real rows unchanged, PAD rows not 0",
    ),
    _claim(
        "A8",
        "position i of a layer waits for no other output of that layer",
        "row i alone changes",
    ),
    _claim("A9", "shapes are (B, H, T, D), and d_v may differ from d_k", "shapes and values"),
    _claim("A10", "multi-head = concatenation of heads times W^O", "nn.MultiheadAttention"),
)
CROSS: tuple[Claim, ...] = (
    _claim("A13", "cross-attention: queries and keys of two sequences, Tq != Tk", "the oracle"),
)
NUMERICAL: tuple[Claim, ...] = (
    _claim("B1", "Var(q·k) = d_k, and 1 after division by sqrt(d_k)", "slope 1; 0 after scaling"),
    _claim(
        "B2",
        "large scores concentrate softmax and shrink its gradient",
        "without scaling weight -> 1, gradient -> 0; with it flat",
    ),
)
