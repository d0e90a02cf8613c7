"""Synthetic run tables made from laws: what each backend's time and peak would be, plus noise."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from harness.analysis.claims import judge
from harness.analysis.claims.evidence import Verdict
from harness.analysis.fits.series import LengthSeries, SeriesFit, fit_series, sweeps
from harness.cases.case import Case, cell_name
from harness.records.record import Record, Status
from harness.records.tables import make_table, records_of

LENGTHS = (64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)
OCTAVES = (64, 128, 256, 512, 1024, 2048, 4096)

Law = Callable[[Case], float]


def dense(case: Case) -> float:
    """Time as the attended pairs ask for, at 20 Gflop/s, and 10 µs of overhead."""
    return 1e-5 + case.flops() / 2e10


def slow(case: Case) -> float:
    """Time of one row after another: four times dense and 10 µs for each row."""
    return 4 * dense(case) + 1e-5 * case.length_query


def linear_time(case: Case) -> float:
    return 1e-5 + 1e-7 * case.length_query


def two_matrices(case: Case) -> float:
    return 2 * case.score_bytes()


def no_matrix(case: Case) -> float:
    return 1024 * case.length_query + 65536


def measured(
    backend: str,
    case: Case,
    *,
    seconds: Law = dense,
    peak: Law = two_matrices,
    noise: float = 0.01,
    replicas: int = 3,
    **fields: object,
) -> Record:
    """Make the record of a cell that was measured; noise is seeded by the cell's name."""
    name = cell_name(backend, case)
    random = np.random.default_rng(zlib.crc32(name.encode()))
    medians = seconds(case) * np.exp(noise * random.standard_normal(replicas))
    centre, reach = float(np.median(medians)), float(np.ptp(medians)) + noise * medians[0]
    values = {
        "status": Status.OK,
        "time_median_s": centre,
        "time_low_s": centre - reach,
        "time_high_s": centre + reach,
        "replicas": replicas,
        "replica_medians_s": tuple(float(median) for median in medians),
        "peak_bytes": round(peak(case)),
        "flops": case.flops(),
        "cell": name,
    }
    return Record(**{"backend": backend, **case.as_dict(), **values, **fields})  # type: ignore[arg-type]


def failed(backend: str, case: Case, *, status: Status, reason: str) -> Record:
    """Make the record of a cell that gave no figures."""
    name = cell_name(backend, case)
    fields = {"backend": backend, "cell": name, "status": status, "reason": reason}
    return Record(**(case.as_dict() | fields))


def sweep(
    backend: str,
    lengths: Iterable[int] = LENGTHS,
    *,
    case: dict[str, object] | None = None,
    **fields: object,
) -> list[Record]:
    """Make the records of a sweep over T; `case` is what is fixed, for `Case.square`."""
    cases = [Case.square(length, **(case or {})) for length in lengths]  # type: ignore[arg-type]
    return [measured(backend, each, **fields) for each in cases]  # type: ignore[arg-type]


def failed_sweep(
    backend: str, lengths: Iterable[int] = LENGTHS, *, status: Status, reason: str
) -> list[Record]:
    return [
        failed(backend, Case.square(length), status=status, reason=reason) for length in lengths
    ]


def table_of(*sweeps: Iterable[Record]) -> pd.DataFrame:
    """Make the table of a run of several sweeps."""
    return make_table(record for records in sweeps for record in records)


def verdicts_of(
    *records: Iterable[Record], claim: str, facts: dict[str, str] | None = None
) -> list[Verdict]:
    """Judge a run of several sweeps and return the verdicts on one claim."""
    return [each for each in judge(table_of(*records), facts or {}) if each.claim == claim]


def words(*records: Iterable[Record], claim: str) -> list[tuple[str | None, str]]:
    """Return (backend, verdict) of one claim."""
    found = verdicts_of(*records, claim=claim)
    return [(each.series["backend"], each.verdict) for each in found]


def flash(lengths: Sequence[int] = LENGTHS, **fields: Any) -> list[Record]:
    """Make a sweep of a fused kernel."""
    return sweep("sdpa-flash", lengths, **({"peak": no_matrix} | fields))


def rowwise(lengths: Sequence[int] = OCTAVES, **fields: Any) -> list[Record]:
    """Make a sweep of one row after another."""
    return sweep("rowwise", lengths, **({"seconds": slow, "peak": no_matrix} | fields))


def series_of(
    table: pd.DataFrame, spreads: Mapping[str, float] | None = None
) -> list[LengthSeries]:
    return sweeps(records_of(table), spreads)


def fits_of(table: pd.DataFrame, spreads: Mapping[str, float] | None = None) -> list[SeriesFit]:
    return [fit_series(series) for series in series_of(table, spreads)]
