"""Record: what came back of one cell and of one question: the one schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any, Self

from harness.cases.shape import AXES, Shape

SCHEMA_VERSION = 1
# How a column of a record comes from what the replicas saw of a cell.
FIRST, MEAN = "first", "mean"
FLAGS = {
    "unconverged": "the time cap came first: raise the cap or quiet the machine",
    "drift": "the first and last third differ by over 3 %: warm up longer or look for throttling",
    "contended": "other processes or the hypervisor took the cores: close them and run again",
    "launch_bound": "the host could not queue work ahead of the device: try the graph_time metric",
    "power_capped": "the card held its clocks down at its power limit: compare with care",
    "too_hot": "the card slowed down from heat or a fault, again and again: check its cooling",
    "grid_ticks": "times are multiples of the timer tick: leave one core free of threads",
}
CONFORMS, DEVIATES, REFUSES, CRASHES = "conforms", "deviates", "refuses", "crashes"
VERDICTS = (CONFORMS, DEVIATES, REFUSES, CRASHES)
# What stands in the place of a backend where torch itself is asked.
NO_BACKEND = "torch"
# How the reason begins: a deviation that is known does not fail a run.
KNOWN, GONE = "known: ", "gone: "


class Status(StrEnum):
    """How a cell ended; every row has one, with a reason when it is not `ok`."""

    OK = "ok"
    DISAGREES = "disagrees"
    OUT_OF_MEMORY = "out_of_memory"
    UNAVAILABLE = "unavailable"
    UNSUPPORTED = "unsupported"
    TIMED_OUT = "timed_out"
    CRASHED = "crashed"
    ERROR = "error"


FAILURES = {Status.DISAGREES, Status.CRASHED, Status.TIMED_OUT, Status.ERROR}


def column(
    unit: str, what: str, *, default: Any = None, seen: str = "", shown: bool = True
) -> Any:
    """Declare one column of the schema: its unit ("" if none) and what it holds.

    `seen` says that workers fill it: FIRST takes what the first replica saw, MEAN the mean of
    all. Tables and figures of a report leave out what is not `shown`.
    """
    return field(
        default=default, metadata={"unit": unit, "what": what, "seen": seen, "shown": shown}
    )


def observed(unit: str, what: str, *, shown: bool = True) -> Any:
    """Declare a column that the first replica fills."""
    return column(unit, what, seen=FIRST, shown=shown)


@dataclass(frozen=True, kw_only=True)
class Record(Shape):
    """Hold one cell (a case on a backend) of one run; absent values are None, never 0 or NaN.

    The columns of all files and tables are these and the axes of the case. To add one, add a line
    here and have measure/ fill the key of that name.
    """

    run: str = column("", "name of the run", default="", shown=False)
    cell: str = column("", "backend and case id, joined by a dot", default="")
    suite: str = column("", "the question this cell was collected for", default="", shown=False)
    backend: str = column("", "backend name", default="")
    status: str = column("", "how the cell ended", default="")
    reason: str | None = column("", "one sentence when the status is not ok")
    kernel: str | None = observed("", "the kernel seen to run", shown=False)
    agrees: bool | None = observed("", "whether the output matched the oracle")
    error_max: float | None = observed(
        "", "largest absolute error against the oracle", shown=False
    )
    error_rel: float | None = observed("", "error_max over the oracle's largest magnitude")
    tolerance: float | None = observed("", "largest error_max that agrees", shown=False)
    error_ratio: float | None = observed("", "error over that of the float32-score formula")
    time_median_s: float | None = column("s", "median over replicas of the median of a call")
    time_low_s: float | None = column("s", "lower end of the 95 % interval")
    time_high_s: float | None = column("s", "upper end of the 95 % interval")
    time_min_s: float | None = column("s", "fastest sample", shown=False)
    samples: int | None = column("", "timed samples over all replicas", shown=False)
    calls_per_sample: int | None = column("", "calls that make one sample, in the first replica")
    replicas: int | None = column("", "worker processes that timed the cell", shown=False)
    replica_medians_s: tuple[float, ...] | None = column("s", "median of each replica")
    first_call_s: float | None = observed(
        "s", "first call: compilation, plans, caches", shown=False
    )
    peak_bytes: int | None = observed("B", "peak above resident inputs, backward with its forward")
    held_bytes: int | None = observed("B", "held between forward and backward, output included")
    reserved_bytes: int | None = observed("B", "peak the allocator reserved (CUDA)", shown=False)
    output_bytes: int | None = column("B", "bytes of the output", shown=False)
    mask_bytes: int | None = observed(
        "B", "bytes of an explicit mask, made before the call", shown=False
    )
    flops: int | None = column("", "floating-point operations over attended pairs")
    min_bytes: int | None = column("B", "each input and each output once", shown=False)
    rate_share: float | None = column("", "FLOP/s over the measured matrix-product ceiling")
    threads: int | None = observed("", "CPU threads of the worker", shown=False)
    page_faults: float | None = column("", "page faults per timed call", seen=MEAN, shown=False)
    flags: str = column("", "warnings, joined by a space", default="")

    @property
    def failed(self) -> bool:
        """Whether this outcome makes the run fail."""
        return self.status in FAILURES

    def as_dict(self) -> dict[str, Any]:
        """Return the columns as plain JSON values."""
        return {name: getattr(self, name) for name in COLUMNS}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Build a record from a mapping; unknown columns are refused with ValueError."""
        unknown = set(values) - set(COLUMNS)
        if unknown:
            raise ValueError(f"unknown columns {sorted(unknown)}: written by a newer version?")
        medians = values.get("replica_medians_s")
        return cls(**values | {"replica_medians_s": tuple(medians) if medians else None})


_ITEMS = {item.name: item for item in fields(Record)}
_OWN = [name for name in _ITEMS if name not in AXES]
_BEFORE = _OWN.index("status")
# The columns in the order of files: what was asked, the axes of the case, what came back.
COLUMNS = {name: _ITEMS[name] for name in (*_OWN[:_BEFORE], *AXES, *_OWN[_BEFORE:])}
# The columns that workers fill, and how they come from several replicas.
SEEN = {name: item.metadata["seen"] for name, item in COLUMNS.items() if item.metadata.get("seen")}


def is_float(name: str) -> bool:
    """Whether a column holds a number that need not be whole."""
    return str(COLUMNS[name].type).startswith("float")


@dataclass(frozen=True, kw_only=True)
class Observation:
    """Hold what one worker saw of one cell; plain values only, so that it travels as JSON.

    `samples_s` are seconds per call; a sample may be a block of `calls_per_sample` calls.
    `found` maps columns of the record that workers fill (SEEN) to what this one saw.
    """

    backend: str
    status: Status = Status.OK
    reason: str | None = None
    samples_s: tuple[float, ...] = ()
    calls_per_sample: int = 1
    flags: tuple[str, ...] = ()
    found: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, backend: str, values: Mapping[str, Any]) -> Self:
        """Make an observation of fields of its own and of columns, told apart by their names."""
        found = {name: value for name, value in values.items() if name in SEEN}
        own = {name: value for name, value in values.items() if name not in SEEN}
        return cls(backend=backend, found=found, **own)

    def __getattr__(self, name: str) -> Any:
        """Return a column that workers fill, None if this one did not."""
        if name in SEEN:
            return self.found.get(name)
        raise AttributeError(name)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Rebuild an observation from its JSON form."""
        tuples = {name: tuple(values.get(name) or ()) for name in ("samples_s", "flags")}
        return cls(**values | tuples | {"status": Status(values["status"])})


@dataclass(frozen=True)
class Question:
    """One behaviour of one backend."""

    backend: str
    behaviour: str

    @property
    def name(self) -> str:
        """Name of the question's test."""
        return f"{self.backend}.{self.behaviour}"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Hold the answer to one question: a row of conformance.csv.

    `expected` and `observed` are short text. `reason` says why a question was refused, what
    crashed, or that a deviation is known; None where there is nothing to say.
    """

    backend: str
    behaviour: str
    device: str
    dtype: str
    expected: str | None = None
    observed: str | None = None
    verdict: str
    reason: str | None = None

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"unknown verdict {self.verdict!r}; valid: {', '.join(VERDICTS)}")

    @property
    def wrong(self) -> bool:
        """Whether the backend did not do what is right, and did not refuse either."""
        return self.verdict in (DEVIATES, CRASHES)

    @property
    def known(self) -> bool:
        """Whether this fault is listed with its library and versions."""
        return (self.reason or "").startswith(KNOWN)

    def as_dict(self) -> dict[str, Any]:
        """Return the columns as plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Rebuild a finding from its plain form."""
        return cls(**values)


FINDING_COLUMNS = tuple(item.name for item in fields(Finding))


@dataclass(frozen=True)
class Seen:
    """Hold what a check saw beside what is right, both as short text, and whether they match."""

    expected: str
    observed: str
    conforms: bool
