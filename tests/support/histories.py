"""Nights: made-up histories written as real run folders, for `history` and for pages on it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from harness.cases.case import Case, cell_name
from harness.records.record import SCHEMA_VERSION, Record
from harness.records.tables import make_table
from tests.support.night_draws import Array, Noise, Plant, draw_cells, draw_replicas, planted

RATES = {"naive": 8e9, "rowwise": 4e9, "tiled": 1.2e10, "sdpa": 2e10, "sdpa-math": 6e9,
         "sdpa-flash": 2.1e10}  # fmt: skip
LENGTHS = (128, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)
START = datetime(2026, 1, 1, 2, 0, tzinfo=UTC)


def records(count: int) -> list[Record]:
    """Make so many cells of real names: backends over lengths, masks, dtypes and heads."""
    masks, dtypes = ("full", "causal", "sliding-window"), ("float32", "bfloat16", "float16")
    points = product((4, 1, 8), dtypes, masks, LENGTHS, RATES)
    made = []
    for heads, dtype, mask, length, backend in islice(points, count):
        case = Case.square(length, heads=heads, dtype=dtype, mask=mask)
        seconds = 1e-5 + case.flops() / RATES[backend]
        peak = 2 * case.score_bytes() if backend in ("naive", "sdpa-math") else 1024 * length
        made.append(
            Record(
                **case.as_dict(),
                cell=cell_name(backend, case),
                suite="length",
                backend=backend,
                status="ok",
                agrees=True,
                kernel=backend,
                time_median_s=seconds,
                samples=60,
                calls_per_sample=1,
                replicas=3,
                peak_bytes=peak,
                flops=case.flops(),
                min_bytes=case.min_bytes(),
                output_bytes=case.output_bytes(),
                threads=1,
            )
        )
    assert len(made) == count, f"at most {len(made)} cells"
    return made


def write_history(
    folder: Path,
    *,
    nights: int,
    cells: int = 60,
    plants: Sequence[Plant] = (),
    seed: int = 0,
    fast: bool = False,
    noise: Noise | None = None,
) -> list[str]:
    """Write so many nights of one machine as run folders and return their names.

    `fast` leaves out cells.csv and verdicts.json, which `history` does not read.
    """
    random = np.random.default_rng(seed)
    particulars = draw_cells(cells, random, noise=noise)
    logs = draw_replicas(particulars, nights, random)
    logs += planted(plants, nights, cells)[:, None, :]
    table = make_table(records(cells))
    verdicts = None if fast else judged(table)
    names = [f"{START + timedelta(days=night):%Y%m%d-%H%M%S}-cpu-nightly" for night in
             range(nights)]  # fmt: skip
    for night, name in enumerate(names):
        own = [plant for plant in plants if plant.active(night)]
        write_run(folder / name, table, logs[night], plants=own, night=night, verdicts=verdicts)
    (folder / "LATEST").write_text(names[-1] + "\n")
    return names


def write_second_look(
    folder: Path, run: str, *, cells: Sequence[str], count: int, shares: dict[str, float]
) -> str:
    """Write the run that measures some cells of another again, each at its share of the level."""
    table = make_table(records(count))
    table = table[table["cell"].isin(cells)].reset_index(drop=True)
    logs = np.log1p([[shares.get(cell, 0.0) for cell in table["cell"]]] * 3)
    logs += [[-0.001], [0.0], [0.001]]
    known = json.loads((folder / run / "run.json").read_text()) | {"confirms": run}
    known |= {"run": f"{run}-again", "started": known["ended"]}
    write_run(folder / f"{run}-again", table, logs, facts=known)
    return f"{run}-again"


def judged(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Judge every claim once: the nights differ by noise alone."""
    from harness.analysis.claims import judge

    spread = table.assign(
        time_low_s=table["time_median_s"] * 0.99,
        time_high_s=table["time_median_s"] * 1.01,
        replica_medians_s=[(value,) * 3 for value in table["time_median_s"]],
    )
    return [verdict.as_dict() for verdict in judge(spread, facts_of("made", 0))]


def write_run(
    folder: Path,
    table: pd.DataFrame,
    logs: Array,
    *,
    plants: Sequence[Plant] = (),
    night: int = 0,
    verdicts: list[dict[str, Any]] | None = None,
    facts: dict[str, Any] | None = None,
) -> None:
    """Write one run: `logs` [replica, cell] scale the table's times; no verdicts, no CSV."""
    folder.mkdir(parents=True)
    measured = with_outcomes(with_times(table.assign(run=folder.name), logs), plants)
    known = facts_of(folder.name, night, plants=plants) | {"cells": len(measured)} | (facts or {})
    (folder / "run.json").write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
    pq.write_table(pa.Table.from_pandas(measured, preserve_index=False), folder / "cells.parquet")
    if verdicts is not None:
        texts = [" ".join(map(repr, map(float, row))) for row in
                 measured["replica_medians_s"]]  # fmt: skip
        measured.assign(replica_medians_s=texts).to_csv(folder / "cells.csv", index=False)
        lies = sum(plant.kind == "verdict" for plant in plants)
        changed = [row | {"verdict": "refuted"} for row in verdicts[:lies]] + verdicts[lies:]
        (folder / "verdicts.json").write_text(json.dumps(changed, indent=1) + "\n")


def with_times(table: pd.DataFrame, logs: Array) -> pd.DataFrame:
    """Return the table with drawn times: medians over replicas and what goes with them."""
    base = table["time_median_s"].to_numpy(float)
    times = np.sort(base * np.exp(logs), axis=0)
    return table.assign(
        time_median_s=np.median(times, axis=0),
        time_low_s=times[0],
        time_high_s=times[-1],
        time_min_s=times[0] * 0.98,
        replica_medians_s=list((base * np.exp(logs)).T),
        rate_share=table["flops"].to_numpy(float) / times[0] / 6e10,
    )


def with_outcomes(table: pd.DataFrame, plants: Sequence[Plant]) -> pd.DataFrame:
    """Return the table with planted growth of memory and cells that failed or vanished."""
    timed = ["time_median_s", "time_low_s", "time_high_s", "time_min_s", "rate_share",
             "peak_bytes"]  # fmt: skip
    reasons = {"unsupported": "no kernel for this head size", "broken": "signal 11 (SIGSEGV)"}
    for plant in plants:
        if plant.kind == "bigger":
            grown = round(int(table["peak_bytes"].iat[plant.cell]) * (1 + plant.size))
            table.loc[plant.cell, "peak_bytes"] = grown
        if plant.kind in reasons:
            status = "crashed" if plant.kind == "broken" else plant.kind
            table.loc[plant.cell, ["status", "reason"]] = [status, reasons[plant.kind]]
            table.loc[plant.cell, timed] = pd.NA
            table.at[plant.cell, "replica_medians_s"] = ()
    return table.drop(index=[plant.cell for plant in plants if plant.kind == "gone"])


def facts_of(run: str, night: int, *, plants: Sequence[Plant] = ()) -> dict[str, Any]:
    """Return the facts of a run; an `era` plant is another torch and so another fingerprint."""
    eras = sum(plant.kind == "era" for plant in plants)
    torch, begun = f"2.{13 + eras}.0", START + timedelta(days=night)
    return {
        "schema": SCHEMA_VERSION, "run": run, "complete": True, "device": "cpu",
        "started": begun.isoformat(), "ended": (begun + timedelta(minutes=20)).isoformat(),
        "command": "pytest suites --benchmark-only --attn-grid nightly",
        "fingerprint": f"cpu-made-up-2c-torch{torch}-00000{eras}",
        "grid": {"name": "nightly", "description": "made up"}, "baseline": "naive",
        "backends": list(RATES), "unavailable": {}, "wall_s": 1200.0, "timed_s": 900.0,
        "ceilings": {"flops_per_s": {"float32": 6e10}, "copy_bytes_per_s": 9e9},
        "machine": {"cpu_model": "Made up", "cores": 2, "threads": 1, "gpus": [],
                    "packages": {"torch": torch, "numpy": "2.4.6", "attention-bench": "0.1.0"}},
        "settings": {"replicas": 3, "target": 0.01, "cap_s": 2.0, "threads": 1, "seed": 0,
                     "pool": "local", "timeout_s": 120.0},
    }  # fmt: skip
