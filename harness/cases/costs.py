"""Costs: the shapes that a work allows, its FLOPs and its bytes, in closed form.

`attention` is the operation alone. The other works take hidden states [batch, length, width] or
tokens [batch, length], with width = heads * dim_key.
"""

from __future__ import annotations

from harness.cases.masks import MASKS
from harness.cases.shape import Shape

# The toy model of `sequence` and `step`: blocks of attention and a two-layer perceptron that is
# four times as wide (Vaswani et al. 2017), and an alphabet of bytes.
BLOCKS, WIDENING, VOCABULARY = 2, 4, 256
TOKEN_BYTES = 8  # torch indexes by int64
# Weight matrices [width, width] for the input and for the state, one pair per gate.
GATES = {"rnn": 1, "gru": 3, "lstm": 4}
MODELS = ("sequence", "step")


def check_work(case: Shape) -> None:
    """Raise ValueError for a shape or a mask that a work cannot have.

    All works but attention are self-attention of equal heads, without a bias on the scores. A
    recurrence and a model that predicts the next token see the past alone: their mask is causal.
    """
    if case.work == "attention":
        return
    same = {"heads_kv": "heads", "length_query": "length_key", "dim_value": "dim_key"}
    for name, other in same.items():
        if getattr(case, name) != getattr(case, other):
            raise ValueError(
                f"work {case.work} needs {name} = {other}, "
                f"not {getattr(case, name)} and {getattr(case, other)}"
            )
    if MASKS[case.mask].biased:
        raise ValueError(f"work {case.work} has no mask {case.mask}")
    if case.work in (*GATES, *MODELS) and case.mask != "causal":
        raise ValueError(f"work {case.work} needs mask causal, not {case.mask}")


def forward_flops(case: Shape) -> int:
    """Count two operations per multiply-add of a forward pass that does nothing twice.

    Norms, activations and softmax are left out. A backend that computes something again (a pass
    per prefix) is counted like one that does not: its rate is of useful work.
    """
    square = 2 * case.batch * case.length_query * case.width**2
    if case.work == "projections":
        return 4 * square
    if case.work in GATES:
        return 2 * GATES[case.work] * square
    attended = 2 * case.pairs() * case.heads * (case.dim_key + case.dim_value)
    if case.work == "attention":
        return attended
    if case.work == "packed":
        return 4 * packed_pairs(case) * case.width
    if case.work == "layer":
        return 4 * square + attended
    if case.work == "step":
        square //= case.length_query
        attended = 4 * case.batch * case.length_key * case.width
    logits = 2 * output_bytes(case) // case.itemsize * case.width
    return BLOCKS * ((4 + 2 * WIDENING) * square + attended) + logits


def packed_pairs(case: Shape) -> int:
    """Count the pairs of one head where each sequence sees its own real tokens alone."""
    causal = MASKS[case.mask].causal is not None
    lengths = case.kept_keys()
    return sum(n * (n + 1) // 2 if causal else n * n for n in lengths)


def weight_count(case: Shape) -> int:
    """Count the weights that a work reads."""
    square = case.width**2
    if case.work in GATES:
        return GATES[case.work] * 2 * (square + case.width)
    if case.work in MODELS:
        embeddings = (2 * VOCABULARY + case.length_query) * case.width
        return BLOCKS * (4 + 2 * WIDENING) * square + embeddings
    return 4 * square


def input_bytes(case: Shape) -> int:
    """Count the bytes of query, key and value; or of what else the work takes.

    That is hidden states or tokens, weights, and the keys that a step is given.
    """
    if case.work == "attention":
        query = case.heads * case.length_query * case.dim_key
        keys = case.heads_kv * case.length_key * (case.dim_key + case.dim_value)
        return case.batch * (query + keys) * case.itemsize
    if case.work == "packed":
        return 3 * output_bytes(case)
    weights = weight_count(case) * case.itemsize
    states = case.batch * case.length_query * case.width * case.itemsize
    tokens = case.batch * case.length_query * TOKEN_BYTES
    if case.work == "sequence":
        return tokens + weights
    if case.work == "step":
        return tokens + weights + 2 * BLOCKS * states
    return states + weights


def output_bytes(case: Shape) -> int:
    """Count the bytes of the output: of all heads, hidden states, four products, or logits."""
    if case.work == "attention":
        return case.batch * case.heads * case.length_query * case.dim_value * case.itemsize
    if case.work in MODELS:
        positions = 1 if case.work == "step" else case.length_query
        return case.batch * positions * VOCABULARY * case.itemsize
    if case.work == "packed":
        return sum(case.kept_keys()) * case.width * case.itemsize
    products = 4 if case.work == "projections" else 1
    return products * case.batch * case.length_query * case.width * case.itemsize
