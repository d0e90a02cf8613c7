"""Noise: the second labels of an A/A run, its noise.csv, and what later runs read from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from harness.records.store import FACTS, read_facts
from harness.records.writer import write_text

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")
NOISE = "noise.csv"
# What a run is for, as its facts say; only a measurement may become the newest run.
MEASUREMENT, AA_RUN = "measurement", "noise"
TWIN = "~twin"


@dataclass(frozen=True, kw_only=True)
class Noise:
    """Hold the noise of one cell: shares of 1, 0.01 is 1 %.

    `ratio` [`low`, `high`] is the twin's time over the cell's, paired by process and round.
    `floor_within` is for two backends of one run, `floor_between` for one cell in two runs of
    `replicas` processes each, `spread` the standard deviation of one process's median.
    `smallest_change` is how much slower a cell must get to be found in 80 % of comparisons.
    """

    cell: str
    ratio: float
    low: float
    high: float
    floor_within: float
    floor_between: float
    smallest_change: float
    spread: float
    replicas: int
    samples: int
    noisy: bool


COLUMNS = {item.name: str(item.type) for item in fields(Noise)}


def twin_of(name: str) -> str:
    """Return the second label of a backend in an A/A run: `naive~twin` for `naive`."""
    return name + TWIN


def is_twin(name: str) -> bool:
    """Whether a backend's name is the second label of another."""
    return name.endswith(TWIN)


def with_twins(backends: Mapping[str, T]) -> dict[str, T]:
    """Map the second label of every backend to the same backend, beside its own name."""
    return {**backends, **{twin_of(name): backend for name, backend in backends.items()}}


def write_noise(folder: Path, table: pd.DataFrame) -> Path:
    """Write the table of an A/A run into its folder and return the path."""
    path = folder / NOISE
    write_text(path, table.to_csv(index=False, lineterminator="\n"))
    return path


def read_noise(folder: Path) -> pd.DataFrame:
    """Read the noise of an A/A run: one row per cell, a column per field of Noise.

    ValueError in one line if the run is no A/A run or its file cannot be read.
    """
    import pandas as pd

    path = folder / NOISE
    if not path.is_file():
        raise ValueError(f"{folder} is no A/A run: measure one with `attnbench doctor --noise`")
    try:
        table = pd.read_csv(path, dtype=COLUMNS)
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read: {str(error).splitlines()[0]}") from None
    missing = [name for name in COLUMNS if name not in table.columns]
    if missing:
        raise ValueError(f"{path} lacks the columns {missing}")
    return table


def noise_runs(results: Path, fingerprint: str) -> list[Path]:
    """List the A/A runs of one fingerprint, oldest first; what cannot be read is passed over."""
    found = []
    for path in results.glob(f"*/{NOISE}"):
        facts = _facts(path.parent)
        if facts.get("kind") == AA_RUN and facts.get("fingerprint") == fingerprint:
            found.append((str(facts.get("started")), path.parent.name, path.parent))
    return [folder for *_, folder in sorted(found)]


def noise_spreads(results: Path, fingerprint: str) -> dict[str, float]:
    """Return {cell: relative standard deviation of one process's median}; the newest counts."""
    return {row.cell: float(row.spread) for row in every_row(results, fingerprint)}


def noise_facts(results: Path, fingerprint: str, *, cells: Iterable[str]) -> dict[str, Any]:
    """Return what a new run's facts keep of A/A runs before it, so that its verdicts stay its own.

    {"spreads": {cell: spread}}, of the cells that the run will measure; {} if none is known.
    """
    known = noise_spreads(results, fingerprint)
    spreads = {cell: known[cell] for cell in cells if cell in known}
    return {"spreads": spreads} if spreads else {}


def spreads_of(facts: Mapping[str, Any]) -> dict[str, float]:
    """Return {cell: spread} as a run's facts keep it; empty for a run that knew of no A/A run."""
    spreads = (facts.get("noise") or {}).get("spreads")
    return dict(spreads) if isinstance(spreads, Mapping) else {}


def every_row(results: Path, fingerprint: str) -> list[Any]:
    """Read every row of every A/A run, oldest first, so that a later one replaces it."""
    rows: list[Any] = []
    for folder in noise_runs(results, fingerprint):
        try:
            rows += read_noise(folder).itertuples()
        except ValueError:
            continue
    return rows


def _facts(folder: Path) -> dict[str, Any]:
    """Read a run's facts; none if they cannot be read: one broken run must not stop the rest."""
    try:
        return read_facts(folder) if (folder / FACTS).is_file() else {}
    except ValueError:
        return {}
