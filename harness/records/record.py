"""Record: what came back of one cell and of one question: the one schema."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any, Self

SCHEMA_VERSION = 1


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


def column(unit: str, what: str, *, default: Any = None) -> Any:
    """Declare one column of the schema: its unit ("" if none) and what it holds."""
    return field(default=default, metadata={"unit": unit, "what": what})


@dataclass(frozen=True, kw_only=True)
class Record:
    """Hold one cell (a case on a backend) of one run; absent values are None, never 0 or NaN."""

    run: str = column("", "name of the run", default="")
    cell: str = column("", "backend and case id, joined by a dot", default="")
    suite: str = column("", "the question this cell was collected for", default="")
    backend: str = column("", "backend name", default="")
    device: str = column("", "cpu, cuda or cuda:N", default="")
    batch: int = column("", "batch entries", default=0)
    heads: int = column("", "query heads", default=0)
    heads_kv: int = column("", "key and value heads", default=0)
    length_query: int = column("positions", "queries per sequence", default=0)
    length_key: int = column("positions", "keys per sequence", default=0)
    dim_key: int = column("", "features of a query and a key", default=0)
    dim_value: int = column("", "features of a value", default=0)
    dtype: str = column("", "element type", default="")
    mask: str = column("", "which keys a query may see", default="")
    window: int | None = column("positions", "keys a sliding window keeps")
    phase: str = column("", "forward, backward or forward_backward", default="")
    work: str = column("", "attention, or what it is a part of", default="attention")
    status: str = column("", "how the cell ended", default="")
    reason: str | None = column("", "one sentence when the status is not ok")
    kernel: str | None = column("", "the kernel seen to run")
    agrees: bool | None = column("", "whether the output matched the oracle")
    error_max: float | None = column("", "largest absolute error against the oracle")
    error_rel: float | None = column("", "error_max over the oracle's largest magnitude")
    tolerance: float | None = column("", "largest error_max that agrees")
    error_ratio: float | None = column("", "error over that of the float32-score formula")
    time_median_s: float | None = column("s", "median over replicas of the median of a call")
    time_low_s: float | None = column("s", "lower end of the 95 % interval")
    time_high_s: float | None = column("s", "upper end of the 95 % interval")
    time_min_s: float | None = column("s", "fastest sample")
    samples: int | None = column("", "timed samples over all replicas")
    calls_per_sample: int | None = column("", "calls that make one sample, in the first replica")
    replicas: int | None = column("", "worker processes that timed the cell")
    replica_medians_s: tuple[float, ...] | None = column("s", "median of each replica")
    first_call_s: float | None = column("s", "first call: compilation, plans, caches")
    peak_bytes: int | None = column("B", "peak above resident inputs, backward with its forward")
    held_bytes: int | None = column("B", "held between forward and backward, output included")
    reserved_bytes: int | None = column("B", "peak the allocator reserved (CUDA)")
    output_bytes: int | None = column("B", "bytes of the output")
    mask_bytes: int | None = column("B", "bytes of an explicit mask, made before the call")
    flops: int | None = column("", "floating-point operations over attended pairs")
    min_bytes: int | None = column("B", "each input and each output once")
    rate_share: float | None = column("", "FLOP/s over the measured matrix-product ceiling")
    threads: int | None = column("", "CPU threads of the worker")
    page_faults: float | None = column("", "page faults per timed call")
    flags: str = column("", "warnings, joined by a space", default="")

    @property
    def failed(self) -> bool:
        """Whether this outcome makes the run fail."""
        return self.status in FAILURES

    def as_dict(self) -> dict[str, Any]:
        """Return the columns as plain JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Build a record from a mapping; unknown columns are refused with ValueError."""
        unknown = set(values) - set(COLUMNS)
        if unknown:
            raise ValueError(f"unknown columns {sorted(unknown)}: written by a newer version?")
        medians = values.get("replica_medians_s")
        return cls(**values | {"replica_medians_s": tuple(medians) if medians else None})


COLUMNS = {item.name: item for item in fields(Record)}


@dataclass(frozen=True, kw_only=True)
class Observation:
    """Hold what one worker saw of one cell; plain values only, so that it travels as JSON.

    `samples_s` are seconds per call; a sample may be a block of `calls_per_sample` calls.
    """

    backend: str
    status: Status = Status.OK
    reason: str | None = None
    kernel: str | None = None
    agrees: bool | None = None
    error_max: float | None = None
    error_rel: float | None = None
    tolerance: float | None = None
    error_ratio: float | None = None
    samples_s: tuple[float, ...] = ()
    calls_per_sample: int = 1
    first_call_s: float | None = None
    peak_bytes: int | None = None
    held_bytes: int | None = None
    reserved_bytes: int | None = None
    output_bytes: int | None = None
    mask_bytes: int | None = None
    threads: int | None = None
    page_faults: float | None = None
    flags: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Rebuild an observation from its JSON form."""
        tuples = {name: tuple(values.get(name) or ()) for name in ("samples_s", "flags")}
        return cls(**values | tuples | {"status": Status(values["status"])})


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
