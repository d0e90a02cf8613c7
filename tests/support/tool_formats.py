"""What other tools demand of a file, as their own source says it; read in November 2026.

github-action-benchmark: src/extract.ts (BenchmarkResult, extractCustomBenchmarkResult) and
src/extractRangeInfo.ts. Bencher: lib/bencher_adapter/src/adapters/python/pytest.rs and
lib/bencher_valid/src/benchmark_name.rs.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, NoReturn

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FiniteFloat, TypeAdapter


def range_is_read(text: str) -> str:
    found = re.search(r"(\+-|±)\s*(?P<value>\d.+)", text)
    assert found is not None, f"no number behind the sign in {text!r}"
    float(found["value"])
    return text


class BenchmarkResult(BaseModel):
    """One entry of the list; a chart draws `value`, an alert divides by the one before."""

    model_config = ConfigDict(extra="forbid", strict=True)
    name: Annotated[str, Field(min_length=1)]
    value: FiniteFloat
    unit: Annotated[str, Field(min_length=1)]
    range: Annotated[str, AfterValidator(range_is_read)] | None = None
    extra: str | None = None


# The action throws on an empty list: "No benchmark result was found".
RESULTS = TypeAdapter(Annotated[list[BenchmarkResult], Field(min_length=1)])


def name_is_taken(text: str) -> str:
    assert 0 < len(text.encode()) <= 1024, "1 to 1024 bytes"
    assert not text.endswith(("_bencher_ignore", "BencherIgnore", "-bencher-ignore")), "muted"
    return text


# A rust_decimal holds 96 bits; a float outside is refused, and with it the whole file.
Amount = Annotated[FiniteFloat, Field(gt=-7.9e28, lt=7.9e28)]


class Stats(BaseModel):
    """Seconds."""

    mean: Amount
    stddev: Annotated[Amount, Field(ge=0)]
    median: Amount
    iqr: Annotated[Amount, Field(ge=0)]


class Benchmark(BaseModel):
    """One entry; all other fields are passed over."""

    fullname: Annotated[str, AfterValidator(name_is_taken)]
    stats: Stats

    def latency_ns(self) -> tuple[float, float, float]:
        """Value, lower and upper bound that Bencher keeps when asked for the median."""
        value, spread = self.stats.median * 1e9, self.stats.iqr * 1e9
        return value, value - spread, value + spread


class Pytest(BaseModel):
    """The whole file: all three are required, the first two as objects."""

    machine_info: dict[str, Any]
    commit_info: dict[str, Any]
    benchmarks: list[Benchmark]


def strict_json(text: str) -> Any:
    """Parse JSON as every other language does: NaN and Infinity are no numbers."""

    def refuse(word: str) -> NoReturn:
        raise ValueError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)
