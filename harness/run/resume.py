"""Resume: may a cut run be continued, and what of it need not be measured again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.records.record import FAILURES, MEAN, SEEN, Observation, Record, Status
from harness.records.store import JOURNAL, read_facts, read_journal

# What must be equal, in the words of the refusal.
ALIKE = {
    "grid_digest": "grid",
    "backends": "backends",
    "fingerprint": "machine",
    "device": "device",
    "seed": "seed",
    "target": "precision",
    "threads": "threads",
}


def what_differs(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Say what a run's facts and those of its continuation disagree on."""
    return [
        f"{word} {_was(word)} {_fact(before, name)!r}, now {_fact(now, name)!r}"
        for name, word in ALIKE.items()
        if _fact(before, name) != _fact(now, name)
    ]


def _was(word: str) -> str:
    return "were" if word.endswith("s") else "was"


def _fact(facts: Mapping[str, Any], name: str) -> Any:
    settings = facts.get("settings")
    value = facts.get(name, settings.get(name) if isinstance(settings, Mapping) else None)
    return ", ".join(value) if isinstance(value, list) else value


def read_cut_run(folder: Path, now: Mapping[str, Any]) -> dict[str, list[Observation]]:
    """Return {cell: what its replicas saw} of a cut run, without the cells that failed.

    ValueError in one line if the grid, the backends or the machine are not the same.
    """
    wrong = what_differs(read_facts(folder), now)
    if wrong:
        raise ValueError(f"{folder.name} cannot be resumed: the {wrong[0]}")
    cells = read_journal(folder / JOURNAL) if (folder / JOURNAL).is_file() else []
    return {
        record.cell: observations(record, samples)
        for record, samples in cells
        if record.status not in FAILURES | {Status.UNAVAILABLE}
    }


def resumed_facts(folder: Path, now: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of a run that goes on: its own, with when it was taken up again."""
    before = read_facts(folder)
    resumed = [*before.get("resumed", []), now["started"]]
    return before | {"resumed": resumed, "complete": False, "cells": now["cells"]}


def observations(record: Record, samples: list[list[float]]) -> list[Observation]:
    """Turn a record and its samples back into what each replica saw; the first checked it."""
    first = Observation(
        backend=record.backend,
        status=Status(record.status),
        reason=record.reason,
        samples_s=tuple(samples[0]) if samples else (),
        calls_per_sample=record.calls_per_sample or 1,
        flags=tuple(record.flags.split()),
        found={name: getattr(record, name) for name in SEEN},
    )
    later = [
        Observation(
            backend=record.backend,
            samples_s=tuple(seconds),
            found={name: getattr(record, name) for name, how in SEEN.items() if how == MEAN},
        )
        for seconds in samples[1:]
    ]
    return [first, *later]
