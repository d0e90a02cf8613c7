"""Costs: from the raw rows, the seconds that each tool takes and who gets there; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.outcome import Outcome, width_of

Data = Mapping[str, Any]


def rows_of(data: Data, tool: str, *stages: str) -> list[dict[str, Any]]:
    """Return the rows of a tool's runs in some stages."""
    return [row for row in data["rows"] if row["tool"] == tool and row["stage"] in stages]


def costs(data: Data) -> pd.DataFrame:
    """Return a row per tool: seconds for all cells at the settings found, and who got there.

    `measure_s` runs from a cell's first call to its last, `wall_s` adds the start of the
    processes; `search_s` is what finding the settings took. Cells that a tool was not asked for
    in any round are filled up with the mean of the others.
    """
    return pd.DataFrame(
        {tool: cost(data, tool) for tool in data["tools"] if rows_of(data, tool, "repeat")}
    ).T


def cost(data: Data, tool: str) -> dict[str, float]:
    """Return one row of `costs`."""
    rows = rows_of(data, tool, "repeat")
    spent: dict[str, list[float]] = {}
    for one in outcomes(rows):
        spent.setdefault(one["cell"], []).append(one["measure_s"])
    measure = float(np.mean([np.mean(seen) for seen in spent.values()]))
    start = np.mean([start_up(row) / len(row["outcomes"]) for row in rows])
    reached = [one["reached"] for one in outcomes(rows)]
    return {
        "measure_s": measure * len(data["cells"]),
        "wall_s": (measure + float(start)) * len(data["cells"]),
        "search_s": sum(row["wall_s"] for row in rows_of(data, tool, "tune")),
        "reached": sum(reached),
        "runs": len(reached),
    }


def start_up(row: Mapping[str, Any]) -> float:
    """Return the seconds of a run that no cell accounts for."""
    return float(row["wall_s"] - sum(one["measure_s"] for one in row["outcomes"]))


def outcomes(rows: Iterable[Mapping[str, Any]]) -> list[Outcome]:
    """List the outcomes of some rows."""
    return [one for row in rows for one in row["outcomes"]]


def defaults(data: Data) -> pd.DataFrame:
    """Return a row per tool that has a default: seconds a cell, half-width, cells that reached."""
    return pd.DataFrame(
        {tool: default(data, tool) for tool in data["tools"] if rows_of(data, tool, "default")}
    ).T


def default(data: Data, tool: str) -> dict[str, float]:
    """Return one row of `defaults`; the width is the widest process where a run has several."""
    rows = rows_of(data, tool, "default")
    found = outcomes(rows)
    widths = [
        width_of(one["pooled"]) if one["pooled"] else max(map(width_of, one["processes"]))
        for one in found
    ]
    return {
        "cells": len(found),
        "measure_s": sum(one["measure_s"] for one in found) / len(found),
        "wall_s": sum(row["wall_s"] for row in rows) / len(found),
        "width": float(np.median(widths)),
        "reached": sum(one["reached"] for one in found),
    }
