"""Axes: what a grid may vary, one value or a list each, and their product as cases."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from harness.case import DEFAULT_WINDOW, Case
from harness.faults import printable

# A CUDA launch has at most so many blocks along its second axis, where heads and batch go.
BLOCKS_MOST = 65_535
LENGTH_MOST = 2**30

T = TypeVar("T")
OneOrMore: TypeAlias = T | Annotated[list[T], Field(min_length=1)]
Whole: TypeAlias = OneOrMore[Annotated[int, Field(gt=0, le=BLOCKS_MOST)]]
Length: TypeAlias = OneOrMore[Annotated[int, Field(gt=0, le=LENGTH_MOST)]]
Name = Annotated[str, AfterValidator(printable)]
DtypeName = Literal["float64", "float32", "bfloat16", "float16"]
MaskName = Literal[
    "full", "causal", "causal-bottom-right", "padding", "causal-padding", "sliding-window",
    "alibi",
]  # fmt: skip
WorkName = Literal[
    "attention", "layer", "projections", "rnn", "gru", "lstm", "packed", "sequence", "step"
]  # fmt: skip
PhaseName = Literal["forward", "backward", "forward_backward"]


class Axes(BaseModel):
    """Values of each axis, one or a list; `length` and `dim` set both of their pair."""

    model_config = ConfigDict(extra="forbid", strict=True)

    batch: Whole | None = None
    heads: Whole | None = None
    heads_kv: Whole | None = None
    length: Length | None = None
    length_query: Length | None = None
    length_key: Length | None = None
    dim: Whole | None = None
    dim_key: Whole | None = None
    dim_value: Whole | None = None
    dtype: OneOrMore[DtypeName] | None = None
    mask: OneOrMore[MaskName] | None = None
    window: Length | None = None
    phase: OneOrMore[PhaseName] | None = None
    work: OneOrMore[WorkName] | None = None


class Series(Axes):
    """One sweep: the product of its lists, everything else as in the base.

    `backends` are the only ones to ask for it (all): where a few can tell, the rest costs time.
    """

    suite: Name = Field(min_length=1)
    backends: Annotated[list[Name], Field(min_length=1)] | None = None


def expand(series: Series, base: Axes, device: str) -> Iterator[Case]:
    """Yield the product of a series' axes over the base."""
    axes = axes_of(series, base)
    for values in product(*axes.values()):
        yield make_case(dict(zip(axes, values, strict=True)), device)


def axes_of(series: Series, base: Axes) -> dict[str, list[Any]]:
    """List the values of every axis of a series, its own before those of the base."""
    given = series.model_dump(exclude_none=True, exclude={"suite", "backends"})
    axes = DEFAULTS | base.model_dump(exclude_none=True) | given
    return {name: value if isinstance(value, list) else [value] for name, value in axes.items()}


DEFAULTS: dict[str, Any] = {"length": 512, "heads": 4, "dim": 64}


def make_case(point: dict[str, Any], device: str) -> Case:
    """Turn one point of the axes into a case.

    Square bottom-right causal is plain causal, and a window belongs to sliding-window alone:
    both are set here so that equal work has one id.
    """
    point = dict(point)
    for both, names in {
        "length": ("length_query", "length_key"),
        "dim": ("dim_key", "dim_value"),
    }.items():
        value = point.pop(both)
        for name in names:
            point.setdefault(name, value)
    point.setdefault("heads_kv", point["heads"])
    if point.get("mask") == "sliding-window":
        point.setdefault("window", DEFAULT_WINDOW)
    else:
        point.pop("window", None)
    if point.get("mask") == "causal-bottom-right" and point["length_query"] == point["length_key"]:
        point["mask"] = "causal"
    return Case(device=device, **point)
