"""Newest: verdicts, behaviours and reasons of a machine's newest run, and what came to differ."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from harness.report.site.night import Night
from harness.store import CONFORMANCE, finite, read_findings

VERDICTS = "verdicts.json"
SERIES = ("backend", "device", "dtype", "mask", "phase")
NUMBERS = ("observed", "low", "high", "expected")


def newest(night: Night, before: Night | None) -> dict[str, Any]:
    """Return what the pages say of a run alone, and which verdicts differ from those before."""
    verdicts = read_verdicts(night.folder)
    earlier = read_verdicts(before.folder) if before is not None else []
    return {
        "verdicts": verdicts,
        "before": _differing(earlier, verdicts),
        "conformance": _findings(night.folder),
        "reasons": _reasons(night),
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


def _reasons(night: Night) -> dict[str, str]:
    """Return why cells of the run were not measured, by name."""
    table = night.table
    told = table[table["reason"].notna() & (table["status"] != "ok")]
    return {str(cell): str(why) for cell, why in zip(told["cell"], told["reason"], strict=True)}
