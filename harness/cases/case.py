"""Case: one question asked of every backend, with its exact pairs, FLOPs, bytes and id."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Self

# The toy model of `sequence` and `step`: blocks of attention and a two-layer perceptron that is
# four times as wide (Vaswani et al. 2017), and an alphabet of bytes.
BLOCKS, WIDENING, VOCABULARY = 2, 4, 256
TOKEN_BYTES = 8  # torch indexes by int64
# Weight matrices [width, width] for the input and for the state, one pair per gate.
GATES = {"rnn": 1, "gru": 3, "lstm": 4}
MODELS = ("sequence", "step")


def check_work(case: Case) -> None:
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
    if case.mask == "alibi":
        raise ValueError(f"work {case.work} has no mask alibi")
    if case.work in (*GATES, *MODELS) and case.mask != "causal":
        raise ValueError(f"work {case.work} needs mask causal, not {case.mask}")


def forward_flops(case: Case) -> int:
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
    logits = 2 * case.output_bytes() // case.itemsize * case.width
    return BLOCKS * ((4 + 2 * WIDENING) * square + attended) + logits


def packed_pairs(case: Case) -> int:
    """Count the pairs of one head where each sequence sees its own real tokens alone."""
    causal = case.mask in ("causal", "causal-padding")
    lengths = case.kept_keys()
    return sum(n * (n + 1) // 2 if causal else n * n for n in lengths)


def weight_count(case: Case) -> int:
    """Count the weights that a work reads."""
    square = case.width**2
    if case.work in GATES:
        return GATES[case.work] * 2 * (square + case.width)
    if case.work in MODELS:
        embeddings = (2 * VOCABULARY + case.length_query) * case.width
        return BLOCKS * (4 + 2 * WIDENING) * square + embeddings
    return 4 * square


def work_input_bytes(case: Case) -> int:
    """Count the bytes of hidden states or tokens, weights, and the keys that a step is given."""
    if case.work == "packed":
        return 3 * work_output_bytes(case)
    weights = weight_count(case) * case.itemsize
    states = case.batch * case.length_query * case.width * case.itemsize
    tokens = case.batch * case.length_query * TOKEN_BYTES
    if case.work == "sequence":
        return tokens + weights
    if case.work == "step":
        return tokens + weights + 2 * BLOCKS * states
    return states + weights


def work_output_bytes(case: Case) -> int:
    """Count the bytes of the output: hidden states, four products, or logits."""
    if case.work in MODELS:
        positions = 1 if case.work == "step" else case.length_query
        return case.batch * positions * VOCABULARY * case.itemsize
    if case.work == "packed":
        return sum(case.kept_keys()) * case.width * case.itemsize
    products = 4 if case.work == "projections" else 1
    return products * case.batch * case.length_query * case.width * case.itemsize


ITEM_SIZES = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2}
DTYPE_CODES = {"float64": "f64", "float32": "f32", "bfloat16": "bf16", "float16": "f16"}
MASK_CODES = {
    "full": "full",
    "causal": "causal",
    "causal-bottom-right": "causal-br",
    "padding": "padding",
    "causal-padding": "causal-padding",
    "sliding-window": "window",
    "alibi": "alibi",
}
# What is computed. `attention` is the operation alone; the others are what it is a part of, or is
# compared with, and take hidden states of width heads * dim_key.
WORK_CODES = {
    "attention": "",
    "layer": "layer-",
    "projections": "projections-",
    "rnn": "rnn-",
    "gru": "gru-",
    "lstm": "lstm-",
    "packed": "packed-",
    "sequence": "sequence-",
    "step": "step-",
}
PHASE_CODES = {"forward": "fwd", "backward": "bwd", "forward_backward": "fwdbwd"}
# Forward is two products; backward is four, so three times forward in all (no recomputation).
PHASE_PRODUCTS = {"forward": 1, "backward": 2, "forward_backward": 3}
DEFAULT_WINDOW = 128


def pick(name: str, value: str, allowed: dict[str, Any]) -> str:
    """Return `value` if it is allowed, else raise ValueError that lists the valid ones."""
    if value not in allowed:
        raise ValueError(f"unknown {name} {value!r}; valid: {', '.join(allowed)}")
    return value


@dataclass(frozen=True, kw_only=True)
class Case:
    """Say what is computed: shapes, dtype, mask, phase and device.

    Query is [batch, heads, length_query, dim_key], key [batch, heads_kv, length_key, dim_key],
    value [batch, heads_kv, length_key, dim_value], output [batch, heads, length_query, dim_value].
    `causal` aligns the triangle top-left (position i sees keys 0..i), `causal-bottom-right`
    lets the last query see every key; the two differ only when the lengths do. `alibi` is
    `causal` with a bias that falls off with the distance, one slope per query head.
    """

    device: str = "cpu"
    batch: int = 1
    heads: int = 4
    heads_kv: int = 4
    length_query: int
    length_key: int
    dim_key: int = 64
    dim_value: int = 64
    dtype: str = "float32"
    mask: str = "full"
    window: int | None = None
    phase: str = "forward"
    work: str = "attention"

    def __post_init__(self) -> None:
        pick("dtype", self.dtype, DTYPE_CODES)
        pick("mask", self.mask, MASK_CODES)
        pick("phase", self.phase, PHASE_CODES)
        pick("work", self.work, WORK_CODES)
        for name in ("batch", "heads", "heads_kv", "length_query", "length_key"):
            _positive(name, getattr(self, name))
        _positive("dim_key", self.dim_key)
        _positive("dim_value", self.dim_value)
        if self.heads % self.heads_kv:
            raise ValueError(f"heads {self.heads} is not a multiple of heads_kv {self.heads_kv}")
        if (self.mask == "sliding-window") != (self.window is not None):
            raise ValueError("window goes with mask sliding-window and with no other")
        if self.window is not None:
            _positive("window", self.window)
        check_work(self)

    @classmethod
    def square(cls, length: int, *, heads: int = 4, dim: int = 64, **fields: Any) -> Self:
        """Make a self-attention case: one length, one dim, as many key heads as query heads."""
        fields = {"heads_kv": heads, "dim_key": dim, "dim_value": dim} | fields
        if fields.get("mask") == "sliding-window":
            fields.setdefault("window", DEFAULT_WINDOW)
        return cls(length_query=length, length_key=length, heads=heads, **fields)

    def with_(self, **fields: Any) -> Self:
        """Return a copy with some fields changed."""
        return replace(self, **fields)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        return asdict(self)

    @property
    def id(self) -> str:
        """Short stable name of `[a-z0-9.-]`, without the device; equal cases have equal ids."""
        parts = [WORK_CODES[self.work] + PHASE_CODES[self.phase], f"t{self.length_query}"]
        parts += [f"k{self.length_key}"] * (self.length_key != self.length_query)
        parts += [f"b{self.batch}"] * (self.batch != 1)
        parts += [f"h{self.heads}"]
        parts += [f"g{self.heads_kv}"] * (self.heads_kv != self.heads)
        parts += [f"d{self.dim_key}"]
        parts += [f"v{self.dim_value}"] * (self.dim_value != self.dim_key)
        parts += [DTYPE_CODES[self.dtype], f"{MASK_CODES[self.mask]}{self.window or ''}"]
        return "-".join(parts)

    @property
    def width(self) -> int:
        """Features of a hidden state: all heads side by side."""
        return self.heads * self.dim_key

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return ITEM_SIZES[self.dtype]

    def kept_keys(self) -> tuple[int, ...]:
        """Return how many keys each batch entry keeps: all, or under padding about 3/4 of them."""
        if self.mask not in ("padding", "causal-padding"):
            return (self.length_key,) * self.batch
        parts = 2 * (self.batch + 1)
        return tuple(
            self.length_key - self.length_key * (entry + 1) // parts for entry in range(self.batch)
        )

    def pairs(self) -> int:
        """Count the attended (query, key) pairs of one head over the whole batch, exactly."""
        rows, keys = self.length_query, self.length_key
        if self.mask in ("full", "padding"):
            return rows * sum(self.kept_keys())
        if self.mask == "causal-bottom-right":
            hidden = max(0, rows - keys)
            seen = rows - hidden
            return self.batch * (seen * (keys - seen) + seen * (seen + 1) // 2)
        if self.mask == "sliding-window":
            assert self.window is not None
            old = _causal_pairs(max(0, rows - self.window), keys)
            return self.batch * (_causal_pairs(rows, keys) - old)
        return sum(_causal_pairs(rows, kept) for kept in self.kept_keys())

    def flops(self) -> int:
        """Count multiply-adds as two operations over the attended pairs; softmax is left out.

        Backward counts twice forward (four products against two), without the recomputation
        that a fused kernel adds: a rate in FLOP/s of such a kernel is of useful work.
        """
        forward = forward_flops(self)
        return forward * PHASE_PRODUCTS[self.phase]

    def min_bytes(self) -> int:
        """Count each input once and each output once; backward adds the gradients of both."""
        passes = {"forward": 1, "backward": 2, "forward_backward": 3}[self.phase]
        return (self.input_bytes() + self.output_bytes()) * passes

    def input_bytes(self) -> int:
        """Count the bytes of query, key and value, or of what else the work takes."""
        if self.work != "attention":
            return work_input_bytes(self)
        query = self.heads * self.length_query * self.dim_key
        keys = self.heads_kv * self.length_key * (self.dim_key + self.dim_value)
        return self.batch * (query + keys) * self.itemsize

    def output_bytes(self) -> int:
        """Count the bytes of the output."""
        if self.work != "attention":
            return work_output_bytes(self)
        return self.batch * self.heads * self.length_query * self.dim_value * self.itemsize

    def score_bytes(self) -> int:
        """Count the bytes of one full score matrix [batch, heads, length_query, length_key]."""
        return self.batch * self.heads * self.length_query * self.length_key * self.itemsize


def _positive(name: str, value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}")


def _causal_pairs(rows: int, keys: int) -> int:
    """Sum min(i + 1, keys) over rows i: the pairs of a top-left triangle."""
    square = min(rows, keys)
    return square * (square + 1) // 2 + (rows - square) * keys


def cell_name(backend: str, case: Case) -> str:
    """Return the name of a cell, e.g. `sdpa-flash.fwd-t4096-h4-d64-f32-causal`."""
    return f"{backend}.{case.id}"
