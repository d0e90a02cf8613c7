"""Replicas: what each saw of one cell, put together as its record and its samples."""

from __future__ import annotations

from statistics import fmean, median
from typing import Any

from harness.analysis.fits.intervals import median_interval, replica_summary
from harness.cases.case import Case, cell_name
from harness.records.record import MEAN, SEEN, Observation, Record, Status, is_float
from harness.records.store import finite


def combine(
    case: Case, backend: str, observations: list[Observation], **facts: Any
) -> tuple[Record, list[list[float]]]:
    """Return the record of a cell and its samples in seconds, one list per replica.

    The first observation carries agreement and memory. A replica that failed decides the status:
    a backend that crashes once in three processes is not one to report a time for. `facts`
    are columns that the caller knows: run, suite and the like.
    """
    first = observations[0]
    worst = next((seen for seen in observations if seen.status is not Status.OK), first)
    samples = [list(seen.samples_s) for seen in observations if seen.samples_s]
    flags = dict.fromkeys(flag for seen in observations for flag in seen.flags)
    timed: dict[str, Any] = {}
    if worst.status is Status.OK:
        timed = {"calls_per_sample": first.calls_per_sample, **time_columns(samples)}
    record = Record(
        cell=cell_name(backend, case),
        backend=backend,
        **case.as_dict(),
        status=worst.status.value,
        reason=worst.reason,
        output_bytes=case.output_bytes(),
        flops=case.flops(),
        min_bytes=case.min_bytes(),
        flags=" ".join(flags),
        **{name: _joined(name, how, observations) for name, how in SEEN.items()},
        **timed,
        **facts,
    )
    return record, samples


def time_columns(samples: list[list[float]]) -> dict[str, Any]:
    """Summarise the samples: none of this is filled for a cell that was not timed."""
    if not samples:
        return {}
    intervals = [median_interval(one) for one in samples]
    medians = [median(one) for one in samples]
    middle, low, high = replica_summary(medians, intervals)
    return {
        "time_median_s": middle,
        "time_low_s": low,
        "time_high_s": high,
        "time_min_s": min(min(one) for one in samples),
        "samples": sum(len(one) for one in samples),
        "replicas": len(samples),
        "replica_medians_s": tuple(medians),
    }


def _joined(name: str, how: str, observations: list[Observation]) -> Any:
    """Return a column that workers fill: what the first saw, or the mean of all."""
    values = [seen.found.get(name) for seen in observations]
    if how == MEAN:
        known = [value for value in values if value is not None]
        return fmean(known) if known else None
    return finite(values[0]) if is_float(name) else values[0]
