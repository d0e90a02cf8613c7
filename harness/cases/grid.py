"""Grid: what to measure, as a TOML file of axes; its cases and its cells."""

from __future__ import annotations

import hashlib
import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import Field as DataclassField
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PositiveInt,
    ValidationError,
    create_model,
)

from harness.cases.case import DEFAULT_WINDOW, Case, cell_name
from harness.cases.masks import MASKS
from harness.cases.shape import AXES, Shape
from harness.cases.text import explain, one_line, printable, shown

Name = Annotated[str, AfterValidator(printable)]
# Keys of a grid that set both axes of a pair; each stands before the first of them.
PAIRS = {"length": ("length_query", "length_key"), "dim": ("dim_key", "dim_value")}


# Types made at run time, from the table of axes; a type checker need not follow.
_Literal: Any = Literal
_List: Any = list


def _values(item: DataclassField[Any]) -> Any:
    """Return the type of what a grid may say of an axis: one value or a list, or nothing."""
    names, most = item.metadata["names"], item.metadata["most"]
    one: Any = _Literal[names] if names else Annotated[int, Field(gt=0, le=most)]
    return one | Annotated[_List[one], Field(min_length=1)] | None


def _axes() -> dict[str, Any]:
    """Map every key of a grid that is an axis to its type; the device is not the grid's to say."""
    known = {item.name: item for item in fields(Shape) if item.name != "device"}
    found: dict[str, Any] = {}
    for name in (name for name in AXES if name in known):
        both = [key for key, pair in PAIRS.items() if pair[0] == name]
        found |= {key: (_values(known[name]), None) for key in (*both, name)}
    return found


AxesModel: Any = create_model(
    "AxesModel", __config__=ConfigDict(extra="forbid", strict=True), **_axes()
)


class Axes(AxesModel):  # type: ignore[misc]
    """Values of each axis, one or a list; `length` and `dim` set both of their pair."""


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

    Square bottom-right causal is plain causal, and a window belongs to windowed masks alone:
    both are set here so that equal work has one id.
    """
    point = dict(point)
    for both, names in PAIRS.items():
        value = point.pop(both)
        for name in names:
            point.setdefault(name, value)
    point.setdefault("heads_kv", point["heads"])
    mask = MASKS[point.get("mask", "full")]
    if mask.windowed:
        point.setdefault("window", DEFAULT_WINDOW)
    else:
        point.pop("window", None)
    if mask.square and point["length_query"] == point["length_key"]:
        point["mask"] = mask.square
    return Case(device=device, **point)


# The backend that ratios compare with, where nobody says another.
DEFAULT_BASELINE = "naive"
FOLDER = Path(__file__).resolve().with_name("grids")

# A grid of so many cases is a slip of the pen: at 0.1 s a cell, one backend takes three hours.
# Expanding them takes 0.7 s.
CASES_MOST = 100_000
# Operations and bytes of a case go into tables with columns of 64 bits.
COUNT_MOST = 2**63 - 1
SECONDS_MOST, TIMES_MOST = 1e9, 1000
Seconds = Annotated[float, Field(gt=0, le=SECONDS_MOST)]


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


class Grid(BaseModel):
    """Say what to measure and how precisely.

    `target` is the relative half-width of the median's 95 % interval at which timing stops,
    `cap_s` the timed seconds that one cell may take in one replica, `longest` the largest
    length per backend (a slow one need not hold up the run), `redo` how often a visit is timed
    again when the machine was busy, `budget_s` the seconds after which only cells that have no
    replica yet are measured, `backends` whom to ask (all).
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    name: Name = ""
    description: Name = ""
    target: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 0.01
    cap_s: Seconds = 2.0
    replicas: Annotated[int, Field(gt=0, le=TIMES_MOST)] = 3
    timeout_s: Seconds = 300.0
    redo: Annotated[int, Field(ge=0, le=TIMES_MOST)] = 2
    budget_s: Seconds | None = None
    backends: list[Name] | None = None
    longest: dict[Name, PositiveInt] = Field(default_factory=dict)
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


def check_size(grid: Grid) -> None:
    """Refuse a grid that asks too much, before any case of it is made; ValueError says which key.

    The largest case of a series stands for all: a causal one, since every work has it.
    """
    count = 0
    for number, series in enumerate(grid.series):
        axes = axes_of(series, grid.base)
        count += math.prod(map(len, axes.values()))
        if count > CASES_MOST:
            raise ValueError(
                f"series.{number} brings it to {count:.3g} cases; a grid has at most "
                f"{CASES_MOST:,}"
            )
        for work in axes.pop("work", ["attention"]):
            _check_largest({name: max(values) for name, values in axes.items()}, number, work)


def _check_largest(point: dict[str, Any], number: int, work: str) -> None:
    point |= {"work": work, "mask": "causal", "phase": "forward_backward", "dtype": "float64"}
    if "heads_kv" in point:
        point["heads_kv"] = point["heads"]  # the largest of each need not go together
    case = make_case(point, "cpu")
    most = max(case.flops(), case.min_bytes(), case.score_bytes())
    if most > COUNT_MOST // 2:  # a causal mask halves the operations
        raise ValueError(
            f"series.{number} has a case of {most:.3g} operations or bytes, more than tables hold"
        )


def grid_names() -> list[str]:
    """List the grids that come with the suite."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load_grid(name: str) -> Grid:
    """Read a grid by name, or from a file by path; ValueError in one line if it is not one."""
    path = Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"
    if not _is_file(path):
        raise ValueError(
            f"unknown grid {shown(name)}; valid: {', '.join(grid_names())}, or a path to a "
            ".toml file"
        )
    try:
        return read_grid(path)
    except ValidationError as error:
        fault = explain(error, place=_place, valid=_valid)
    except RecursionError:
        fault = "it is nested too deep"
    except (OSError, ValueError) as error:
        fault = one_line(error)
    raise ValueError(f"grid {one_line(path)}: {fault}")


def read_grid(path: Path) -> Grid:
    """Read a grid from a file; raises what TOML, pydantic and a case find wrong with it."""
    grid = Grid.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    check_size(grid)
    for _ in grid.cases("cpu"):
        pass
    return grid.model_copy(update={"name": printable(path.stem)})


def _is_file(path: Path) -> bool:
    """Whether a path leads to a file; one that no system takes leads nowhere."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _place(place: tuple[int | str, ...]) -> str:
    """Name a fault's place: `series.0.length.2`.

    Behind the name of an axis pydantic adds the branch of a union; users know no branches.
    """
    depth = {"base": 2, "series": 3}.get(str(place[0]), len(place))
    rest = [part for part in place[depth:] if isinstance(part, int)]
    return ".".join(map(str, [*place[:depth], *rest]))


def _valid(place: tuple[int | str, ...]) -> str:
    models: dict[Any, type[BaseModel]] = {"base": Axes, "series": Series}
    model = models.get(place[0], Grid) if len(place) > 1 else Grid
    return ", ".join(model.model_fields)


def grid_digest(grid: Grid) -> str:
    """Return a short hash of all that a grid says but its name and description."""
    text = grid.model_dump_json(exclude={"name", "description"})
    return hashlib.sha256(text.encode()).hexdigest()[:12]
