"""Core: what every page needs first: the list of runs, of cells, of eras and of changes."""

from __future__ import annotations

from typing import Any

from harness.analysis.eras import differences
from harness.record import FAILURES
from harness.report.palette import ordered
from harness.report.site.changes import changes, eras
from harness.report.site.chunks import Chunk
from harness.report.site.looks import look
from harness.report.site.night import SHAPE, STATUSES, Night
from harness.report.site.stack import Stack

# Facts of so many runs go into one file: about 100 kB.
FACTS_PER_FILE = 50


def core(
    nights: list[Night], stack: Stack, *, parts: list[Chunk], without: list[str]
) -> dict[str, Any]:
    """Return the lists that all pages share, as columns: names by place, runs by place."""
    groups = eras(night.fingerprint for night in nights)
    return {
        "runs": runs(nights, stack),
        "eras": [era(nights, group) for group in groups],
        "backends": [look(name) for name in ordered(_backends(stack))],
        "cells": cells(stack, parts),
        "statuses": STATUSES,
        "changes": [change.as_dict() for change in changes(stack, groups)],
        "claims": claims(),
        "facts_per_file": FACTS_PER_FILE,
        "without": without,
    }


def era(nights: list[Night], runs: list[int]) -> dict[str, Any]:
    """Return an era: its fingerprint, its runs, and what differs from the device's run before."""
    first = nights[runs[0]]
    device = first.facts.get("device")
    before = [night for night in nights[: runs[0]] if night.facts.get("device") == device]
    changed = differences(before[-1].facts, first.facts) if before else []
    return {"name": first.fingerprint, "runs": runs, "changed": changed}


def runs(nights: list[Night], stack: Stack) -> dict[str, list[Any]]:
    """Return a column per fact of a run that lists show; times in seconds since 1970."""
    failed = [STATUSES.index(status.value) for status in FAILURES]
    return {
        "name": [night.name for night in nights],
        "began": [round(night.began) for night in nights],
        "device": [str(night.facts.get("device") or "") for night in nights],
        "grid": [_grid(night) for night in nights],
        "complete": [night.facts.get("complete") is True for night in nights],
        "ok": [int((column == STATUSES.index("ok")).sum()) for column in stack.status.T],
        "failed": [
            int(sum((column == word).sum() for word in failed)) for column in stack.status.T
        ],
        "cells": [int((column > 0).sum()) for column in stack.status.T],
    }


def cells(stack: Stack, parts: list[Chunk]) -> dict[str, list[Any]]:
    """Return a column per field of a cell, and where its numbers lie: chunk and row."""
    found = {name: [shape[name] for shape in stack.shapes] for name in ("name", *SHAPE)}
    places = [(0, 0)] * stack.cells
    for number, part in enumerate(parts):
        for row, cell in enumerate(part.cells):
            places[cell] = (number, row)
    found["chunk"] = [chunk for chunk, _ in places]
    found["row"] = [row for _, row in places]
    return found


def claims() -> dict[str, str]:
    """Return the sentence of every claim of the ledger, by id."""
    from harness.analysis.claims import CLAIMS

    return {claim.id: claim.sentence for claim in CLAIMS}


def _backends(stack: Stack) -> set[str]:
    return {str(shape["backend"]) for shape in stack.shapes}


def _grid(night: Night) -> str:
    grid = night.facts.get("grid")
    return str(grid.get("name") or "") if isinstance(grid, dict) else str(grid or "")
