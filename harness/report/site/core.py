"""Core: what every page needs of all runs, and the newest run's own."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from harness.analysis.tracking.changes import by_fingerprint, fingerprint_differences
from harness.records.record import FAILURES
from harness.records.store import CONFORMANCE, VERDICTS, finite, read_findings
from harness.report.palette import Dashes, ordered, style
from harness.report.site.changes import changes
from harness.report.site.matrix import SHAPE, STATUSES, LoadedRun, RunMatrix
from harness.report.site.pack import Chunk

# matplotlib's markers in plotly's words.
SYMBOLS = {
    "o": "circle", "s": "square", "^": "triangle-up", "v": "triangle-down", "D": "diamond",
    "d": "diamond-tall", "h": "hexagon", "H": "hexagon2", "p": "pentagon", "P": "cross",
    "X": "x", "*": "star", "<": "triangle-left", ">": "triangle-right",
}  # fmt: skip
# A dash is a multiple of the line's width in the figures, and of pixels here: lines are 2 wide.
PIXELS = 2.0
SERIES = ("backend", "device", "dtype", "mask", "phase")
NUMBERS = ("observed", "low", "high", "expected")
# Facts of so many runs go into one file: about 100 kB.
FACTS_PER_FILE = 50


def backend_style(backend: str) -> dict[str, Any]:
    """Return a backend's name, colour, symbol and dash; they depend on the name alone."""
    made = style(backend)
    return {
        "name": backend,
        "colour": made.colour,
        "symbol": SYMBOLS[made.marker],
        "dash": dash(made.dashes),
    }


def dash(dashes: Dashes) -> str:
    """Return a dash as `8px,3px`, or `solid`."""
    return ",".join(f"{PIXELS * float(part):g}px" for part in dashes) or "solid"


def newest_run(run: LoadedRun, before: LoadedRun | None) -> dict[str, Any]:
    """Return what the pages say of a run alone, and which verdicts differ from those before."""
    verdicts = read_verdicts(run.folder)
    earlier = read_verdicts(before.folder) if before is not None else []
    return {
        "verdicts": verdicts,
        "before": _differing(earlier, verdicts),
        "conformance": _findings(run.folder),
        "reasons": _reasons(run),
    }


def read_verdicts(folder: Path) -> list[dict[str, Any]]:
    """Read verdicts.json as text and finite numbers; nothing where there is none to read."""
    try:
        rows = json.loads((folder / VERDICTS).read_text(encoding="utf-8"))
        return [_verdict(row) for row in rows]
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return []


def _verdict(row: dict[str, Any]) -> dict[str, Any]:
    series = row.get("series") or {}
    numbers = {name: row.get(name) for name in NUMBERS}
    return {
        "claim": str(row["claim"]),
        "verdict": str(row["verdict"]),
        "reason": str(row.get("reason") or ""),
        **{name: None if value is None else finite(value) for name, value in numbers.items()},
        **{name: str(series.get(name) or "") for name in SERIES},
    }


def _key(row: dict[str, Any]) -> tuple[str, ...]:
    """Return what tells a verdict from the others of its run, its numbers left out."""
    return (row["claim"], *(row[name] for name in SERIES), str(row["expected"]))


def _differing(
    earlier: Iterable[dict[str, Any]], verdicts: list[dict[str, Any]]
) -> list[str | None]:
    """Return, for each verdict, the word it had before, None where that was the same.

    A series may have several verdicts on one claim: they are told apart by their order.
    """
    old = _numbered(earlier)
    words = {key: row["verdict"] for key, row in old}
    return [
        words[key] if words.get(key, row["verdict"]) != row["verdict"] else None
        for key, row in _numbered(verdicts)
    ]


def _numbered(rows: Iterable[dict[str, Any]]) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    seen: dict[tuple[str, ...], int] = {}
    made = []
    for row in rows:
        key = _key(row)
        seen[key] = seen.get(key, 0) + 1
        made.append(((*key, seen[key]), row))
    return made


def _findings(folder: Path) -> list[dict[str, Any]]:
    try:
        return [finding.as_dict() for finding in read_findings(folder / CONFORMANCE)]
    except (OSError, ValueError):
        return []


def _reasons(run: LoadedRun) -> dict[str, str]:
    """Return why cells of the run were not measured, by name."""
    table = run.table
    missing = table[table["reason"].notna() & (table["status"] != "ok")]
    return {
        str(cell): str(why) for cell, why in zip(missing["cell"], missing["reason"], strict=True)
    }


def core(
    runs: list[LoadedRun], matrix: RunMatrix, *, parts: list[Chunk], without: list[str]
) -> dict[str, Any]:
    """Return the lists that all pages share, as columns: names by place, runs by place."""
    groups = by_fingerprint(run.fingerprint for run in runs)
    return {
        "runs": run_columns(runs, matrix),
        "eras": [_era(runs, group) for group in groups],
        "backends": [backend_style(name) for name in ordered(_backends(matrix))],
        "cells": cell_columns(matrix, parts),
        "statuses": STATUSES,
        "changes": [change.as_dict() for change in changes(matrix, groups)],
        "claims": claim_sentences(),
        "facts_per_file": FACTS_PER_FILE,
        "without": without,
    }


def _era(runs: list[LoadedRun], group: list[int]) -> dict[str, Any]:
    """Return an era: its fingerprint, its runs, and what differs from the device's run before."""
    first = runs[group[0]]
    device = first.facts.get("device")
    before = [run for run in runs[: group[0]] if run.facts.get("device") == device]
    changed = fingerprint_differences(before[-1].facts, first.facts) if before else []
    return {"name": first.fingerprint, "runs": group, "changed": changed}


def run_columns(runs: list[LoadedRun], matrix: RunMatrix) -> dict[str, list[Any]]:
    """Return a column per fact of a run that lists show; times in seconds since 1970."""
    failed = [STATUSES.index(status.value) for status in FAILURES]
    return {
        "name": [run.name for run in runs],
        "began": [round(run.began) for run in runs],
        "device": [str(run.facts.get("device") or "") for run in runs],
        "grid": [_grid(run) for run in runs],
        "complete": [run.facts.get("complete") is True for run in runs],
        "ok": [int((column == STATUSES.index("ok")).sum()) for column in matrix.status.T],
        "failed": [
            int(sum((column == word).sum() for word in failed)) for column in matrix.status.T
        ],
        "cells": [int((column > 0).sum()) for column in matrix.status.T],
    }


def cell_columns(matrix: RunMatrix, parts: list[Chunk]) -> dict[str, list[Any]]:
    """Return a column per field of a cell, and where its numbers lie: chunk and row."""
    found = {name: [shape[name] for shape in matrix.shapes] for name in ("name", *SHAPE)}
    places = [(0, 0)] * matrix.cells
    for number, part in enumerate(parts):
        for row, cell in enumerate(part.cells):
            places[cell] = (number, row)
    found["chunk"] = [chunk for chunk, _ in places]
    found["row"] = [row for _, row in places]
    return found


def claim_sentences() -> dict[str, str]:
    """Return the sentence of every claim, by id."""
    from harness.analysis.claims import CLAIMS

    return {claim.id: claim.sentence for claim in CLAIMS}


def _backends(matrix: RunMatrix) -> set[str]:
    return {str(shape["backend"]) for shape in matrix.shapes}


def _grid(run: LoadedRun) -> str:
    grid = run.facts.get("grid")
    return str(grid.get("name") or "") if isinstance(grid, dict) else str(grid or "")
