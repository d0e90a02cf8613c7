"""Grid: the axes to measure, read from a TOML file, checked, and expanded into cases."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    ValidationError,
)

from harness.case import DEFAULT_WINDOW, Case
from harness.record import cell_name

FOLDER = Path(__file__).resolve().parent.parent / "suites" / "grids"

T = TypeVar("T")
OneOrMore: TypeAlias = T | Annotated[list[T], Field(min_length=1)]
Whole: TypeAlias = OneOrMore[PositiveInt]
DtypeName = Literal["float64", "float32", "bfloat16", "float16"]
MaskName = Literal[
    "full", "causal", "causal-bottom-right", "padding", "causal-padding", "sliding-window",
    "alibi",
]  # fmt: skip
WorkName = Literal[
    "attention", "layer", "projections", "rnn", "gru", "lstm", "packed", "sequence", "step"
]  # fmt: skip
PhaseName = Literal["forward", "backward", "forward_backward"]


@dataclass(frozen=True)
class Cell:
    """One case on one backend, asked for by a suite."""

    suite: str
    backend: str
    case: Case

    @property
    def name(self) -> str:
        """Name of the cell in every table."""
        return cell_name(self.backend, self.case)


class Axes(BaseModel):
    """Values of each axis, one or a list; `length` and `dim` set both of their pair."""

    model_config = ConfigDict(extra="forbid", strict=True)

    batch: Whole | None = None
    heads: Whole | None = None
    heads_kv: Whole | None = None
    length: Whole | None = None
    length_query: Whole | None = None
    length_key: Whole | None = None
    dim: Whole | None = None
    dim_key: Whole | None = None
    dim_value: Whole | None = None
    dtype: OneOrMore[DtypeName] | None = None
    mask: OneOrMore[MaskName] | None = None
    window: Whole | None = None
    phase: OneOrMore[PhaseName] | None = None
    work: OneOrMore[WorkName] | None = None


class Series(Axes):
    """One sweep: the product of its lists, everything else as in the base.

    `backends` are the only ones to ask for it (all): where a few can tell, the rest costs time.
    """

    suite: str = Field(min_length=1)
    backends: Annotated[list[str], Field(min_length=1)] | None = None


class Grid(BaseModel):
    """Say what to measure and how precisely.

    `target` is the relative half-width of the median's 95 % interval at which timing stops,
    `cap_s` the timed seconds that one cell may take in one replica, `longest` the largest
    length per backend (a slow one need not hold up the run), `redo` how often a visit is timed
    again when the machine was busy, `budget_s` the seconds after which only cells that have no
    replica yet are measured, `backends` whom to ask (all).
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str = ""
    description: str = ""
    target: PositiveFloat = 0.01
    cap_s: PositiveFloat = 2.0
    replicas: PositiveInt = 3
    timeout_s: PositiveFloat = 300.0
    redo: NonNegativeInt = 2
    budget_s: PositiveFloat | None = None
    backends: list[str] | None = None
    longest: dict[str, PositiveInt] = Field(default_factory=dict)
    base: Axes = Field(default_factory=Axes)
    series: list[Series] = Field(min_length=1)

    def cases(self, device: str) -> Iterator[tuple[str, Case]]:
        """Yield (suite, case) in the order of the file, each pair once."""
        seen = set()
        for series in self.series:
            for case in expand(series, self.base, device):
                if (series.suite, case) not in seen:
                    seen.add((series.suite, case))
                    yield series.suite, case

    def cells(self, suite: str, works: Mapping[str, str], device: str) -> list[Cell]:
        """List the cells of one suite: every case on every backend of its work and length.

        `works` maps the names of the backends to what they compute.
        """
        cells = (
            Cell(suite, backend, case)
            for series in self.series
            if series.suite == suite
            for case in expand(series, self.base, device)
            for backend, work in works.items()
            if work == case.work and self.wants(backend, case)
            if series.backends is None or backend in series.backends
        )
        return list(dict.fromkeys(cells))

    def wants(self, backend: str, case: Case) -> bool:
        """Whether the grid lets this backend run a case of this length."""
        longest = self.longest.get(backend)
        return longest is None or max(case.length_query, case.length_key) <= longest


def expand(series: Series, base: Axes, device: str) -> Iterator[Case]:
    """Yield the product of a series' axes over the base."""
    given = series.model_dump(exclude_none=True, exclude={"suite", "backends"})
    axes = DEFAULTS | base.model_dump(exclude_none=True) | given
    lists = [value if isinstance(value, list) else [value] for value in axes.values()]
    for values in product(*lists):
        yield make_case(dict(zip(axes, values, strict=True)), device)


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


def grid_names() -> list[str]:
    """List the grids that come with the suite."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load_grid(name: str) -> Grid:
    """Read a grid by name, or from a file by path; ValueError in one line if it is not one."""
    path = Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"
    if not path.is_file():
        raise ValueError(
            f"unknown grid {name!r}; valid: {', '.join(grid_names())}, or a path to a .toml file"
        )
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
        grid = Grid.model_validate(values)
        for _ in grid.cases("cpu"):
            pass
    except ValidationError as error:
        raise ValueError(f"grid {path}: {_explain(error)}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError, ValueError) as error:
        raise ValueError(f"grid {path}: {error}") from None
    return grid.model_copy(update={"name": path.stem})


def _explain(error: ValidationError) -> str:
    """Say one fault in one line: key, value, and what would be valid.

    A value that may be one or a list fails once for each; the deepest fault is the one meant.
    """
    faults = sorted(error.errors(), key=lambda fault: -len(fault["loc"]))
    faults.sort(key=lambda fault: fault["type"] not in ("extra_forbidden", "too_short"))
    fault = faults[0]
    place = [part for part in fault["loc"] if not _is_type_label(part)]
    key = ".".join(str(part) for part in place)
    if fault["type"] == "extra_forbidden":
        models: dict[Any, type[BaseModel]] = {"base": Axes, "series": Series}
        valid = models.get(place[0], Grid).model_fields
        return f"unknown key {key!r}; valid: {', '.join(valid)}"
    if fault["type"] == "missing":
        return f"key {key!r} is missing"
    wanted = fault["msg"].replace("Input should be", "must be")
    if fault["type"] == "literal_error":
        wanted = f"valid: {fault['ctx']['expected']}"
    return f"{key} = {fault['input']!r}: {wanted}"


def _is_type_label(part: int | str) -> bool:
    """Pydantic adds the branch of a union to the place of a fault; users know no branches."""
    return isinstance(part, str) and ("[" in part or part in ("int", "constrained-int"))
