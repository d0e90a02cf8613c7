"""Case: one question asked of every backend, with its exact pairs, FLOPs, bytes and id."""

from __future__ import annotations

from dataclasses import Field, dataclass, fields, replace
from typing import Any, Self

from harness.cases import costs
from harness.cases.masks import MASK_CODES, MASKS
from harness.cases.shape import (
    AXES,
    DTYPE_CODES,
    PHASE_CODES,
    WORK_CODES,
    Shape,
    further_codes,
)

# Forward is two products; backward is four, so three times forward in all (no recomputation).
PHASE_PRODUCTS = {"forward": 1, "backward": 2, "forward_backward": 3}
DEFAULT_WINDOW = 128


@dataclass(frozen=True, kw_only=True)
class Case(Shape):
    """Say what is computed: shapes, dtype, mask, phase and device.

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
    phase: str = "forward"

    def __post_init__(self) -> None:
        for item in fields(Shape):
            _check(item, getattr(self, item.name))
        if self.heads % self.heads_kv:
            raise ValueError(f"heads {self.heads} is not a multiple of heads_kv {self.heads_kv}")
        if MASKS[self.mask].windowed != (self.window is not None):
            windowed = ", ".join(name for name, mask in MASKS.items() if mask.windowed)
            raise ValueError(f"window goes with mask {windowed} and with no other")
        costs.check_work(self)

    @classmethod
    def square(cls, length: int, *, heads: int = 4, dim: int = 64, **given: Any) -> Self:
        """Make a self-attention case: one length, one dim, as many key heads as query heads."""
        given = {"heads_kv": heads, "dim_key": dim, "dim_value": dim} | given
        if given.get("mask") in MASKS and MASKS[given["mask"]].windowed:
            given.setdefault("window", DEFAULT_WINDOW)
        return cls(length_query=length, length_key=length, heads=heads, **given)

    def with_(self, **values: Any) -> Self:
        """Return a copy with some fields changed."""
        return replace(self, **values)

    def as_dict(self) -> dict[str, Any]:
        """Return the axes as plain JSON values, in the order of tables."""
        return {name: getattr(self, name) for name in AXES}

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
        parts += further_codes(self)
        parts += [DTYPE_CODES[self.dtype], f"{MASK_CODES[self.mask]}{self.window or ''}"]
        return "-".join(parts)

    def flops(self) -> int:
        """Count multiply-adds as two operations over the attended pairs; softmax is left out.

        Backward counts twice forward (four products against two), without the recomputation
        that a fused kernel adds: a rate in FLOP/s of such a kernel is of useful work.
        """
        return costs.forward_flops(self) * PHASE_PRODUCTS[self.phase]

    def min_bytes(self) -> int:
        """Count each input once and each output once; backward adds the gradients of both."""
        passes = {"forward": 1, "backward": 2, "forward_backward": 3}[self.phase]
        return (self.input_bytes() + self.output_bytes()) * passes

    def input_bytes(self) -> int:
        """Count the bytes of query, key and value, or of what else the work takes."""
        return costs.input_bytes(self)

    def output_bytes(self) -> int:
        """Count the bytes of the output."""
        return costs.output_bytes(self)

    def score_bytes(self) -> int:
        """Count the bytes of one full score matrix [batch, heads, length_query, length_key]."""
        return self.batch * self.heads * self.length_query * self.length_key * self.itemsize


def _check(item: Field[Any], value: Any) -> None:
    """Refuse what an axis cannot have: a name that it does not know, or no whole number."""
    names = item.metadata["names"]
    if names and value not in names:
        raise ValueError(f"unknown {item.name} {value!r}; valid: {', '.join(names)}")
    if isinstance(item.default, str) or (value is None and item.default is None):
        return
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{item.name} must be a whole number of at least 1, not {value!r}")


def cell_name(backend: str, case: Case) -> str:
    """Return the name of a cell, e.g. `sdpa-flash.fwd-t4096-h4-d64-f32-causal`."""
    return f"{backend}.{case.id}"
