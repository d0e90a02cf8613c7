"""Session: the project as its user runs it, agreement check, memory, files and report included."""

from __future__ import annotations

import shutil
import sys

from benchmarks.cells import all_cells
from benchmarks.outcome import Outcome, summary
from benchmarks.runner import Answer, Place, Settings
from harness.records.store import Run, find_run, load_run

# The suite of these cells: behaviours and conventions, which no peer asks, are another suite.
SUITE = "suites/test_length.py"
HEAD = """
target = {target}
cap_s = {cap_s}
replicas = 3
redo = 0
"""
SERIES = """
[[series]]
suite = "length"
backends = {backends}
length = {length}
"""
# No cap that a converging cell would reach, as in the child.
CAP_S = 10.0


def run_session(place: Place, settings: Settings, target: float) -> Answer:
    """Run `pytest suites/test_length.py --benchmark-only` on these cells and read its tables.

    A setting above 0 is the grid's cap in seconds a cell and process. The time between the first
    and the last call is the session's own; its wall time holds pytest and the report as well.
    """
    results = place.folder / "results"
    shutil.rmtree(results, ignore_errors=True)
    grid = place.folder / "peers.toml"
    grid.write_text(grid_text(place.device, settings, target=target), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", SUITE, "--benchmark-only", "-q"]
    command += ["-p", "no:cacheprovider", f"--attn-grid={grid}", f"--attn-device={place.device}"]
    command += [f"--attn-results={results}", f"--attn-reports={place.folder / 'reports'}"]
    spent = place.run(command, {}, pinned=False)
    return read_session(load_run(find_run(results)), list(settings)), spent


def grid_text(device: str, settings: Settings, *, target: float) -> str:
    """Write the grid of these cells: a series for each length, with its backends."""
    lengths: dict[int, list[str]] = {}
    for name in settings:
        backend, case = all_cells(device)[name]
        lengths.setdefault(case.length_query, []).append(backend)
    cap = max(settings.values()) or CAP_S
    head = HEAD.format(target=target, cap_s=float(cap))
    return head + "".join(
        SERIES.format(backends=backends, length=length) for length, backends in lengths.items()
    )


def read_session(run: Run, names: list[str]) -> list[Outcome]:
    """Return the outcomes of a run: each record's median and interval."""
    table = run.table.set_index("cell")
    times = ["time_median_s", "time_low_s", "time_high_s"]
    share = run.facts["wall_s"] / len(names)
    found = []
    for name in names:
        row = table.loc[name]
        if row["status"] != "ok":
            raise ValueError(f"{name} ended as {row['status']}: {row['reason']}")
        estimate, *stated = (float(value) for value in row[times].to_numpy())
        samples = run.samples[run.samples["cell"] == name].groupby("replica")["seconds"]
        found.append(
            {
                "cell": name,
                "estimate_s": estimate,
                "stated_s": stated,
                "measure_s": share,
                "pooled": None,
                "processes": [summary(list(one)) for _, one in samples],
            }
        )
    return found
