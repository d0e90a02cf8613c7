"""Listing: which runs and files there are under a URL, in one request for a thousand of them.

What a store offers is not trusted: only files of known names, in folders of plain names, count.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from harness.noise import NOISE
from harness.remote.address import FILES, RUN_NAME
from harness.remote.messages import redact
from harness.store import FACTS, JOURNAL, LATEST

# A run can be read from either of these.
CELLS = (JOURNAL, "cells.csv")


@dataclass(frozen=True)
class Remote:
    """Name one file of a run in the store, its size in bytes, and a mark of its version."""

    path: str
    run: str
    name: str
    size: int
    mark: int


def listed(store: Any, root: str, *, only: str = "") -> list[Remote]:
    """List the files of one run or of all, in one listing; names that are not ours are dropped."""
    entries = store.find(f"{root}/{only}".rstrip("/"), detail=True)
    found = []
    for path, entry in entries.items():
        run, _, name = path.removeprefix(f"{root}/").partition("/")
        if name in FILES and RUN_NAME.fullmatch(run) and run.upper() != LATEST:
            found.append(Remote(path, run, name, entry["size"], mark_of(entry)))
    return found


def mark_of(entry: dict[str, Any]) -> int:
    """Turn what a store says of a version into a time in ns since 1970, less than 2**60.

    A copy bears it as its time of change: file and mark then arrive in one step, whatever else
    fetches at the same moment.
    """
    names = ("ETag", "etag", "size", "LastModified", "updated", "mtime", "created")
    text = repr([str(entry.get(name)) for name in names])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> 4


def by_run(found: Iterable[Remote]) -> dict[str, list[Remote]]:
    """Group files by their run."""
    runs: dict[str, list[Remote]] = {}
    for one in found:
        runs.setdefault(one.run, []).append(one)
    return runs


def readable(files: Iterable[Remote]) -> bool:
    """Tell whether a run has its facts and some cells."""
    names = {one.name for one in files}
    return FACTS in names and bool(names & {*CELLS})


def newest(runs: dict[str, list[Remote]]) -> str:
    """Return the name of the newest readable run, or ""; names begin with the time.

    An A/A run is never the newest.
    """
    names = {run: {one.name for one in files} for run, files in runs.items() if readable(files)}
    return max((run for run, held in names.items() if NOISE not in held), default="")


def latest(store: Any, root: str) -> str:
    """Return the name that LATEST holds, or "" if there is none or it is no name of a run."""
    try:
        name = store.cat_file(f"{root}/{LATEST}").decode(errors="replace").strip()
    except FileNotFoundError:
        return ""
    return name if RUN_NAME.fullmatch(name) else ""


def why_none(store: Any, root: str, run: str | None) -> str:
    """Say which runs there are, in one line."""
    runs = by_run(listed(store, root))
    good = sorted(name for name, files in runs.items() if readable(files))
    valid = ", ".join(good[-5:]) or "none"
    if run in runs:
        return f"run {run!r} has no cells yet, its upload may have been cut; valid: {valid}"
    return "no run there" if run is None else f"no run {redact(run)!r}; valid: {valid}"
