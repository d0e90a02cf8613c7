"""Download: copies of the runs under a URL; only what is missing or changed is fetched.

It is no `fsspec.generic.rsync`: that copies whatever a store offers, and leaves an old file beside
the new ones of its run when it is cut.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.records.noise import NOISE
from harness.records.remote.address import (
    FILES,
    RUN_NAME,
    checked,
    connect,
    copies,
    is_url,
    local_folder,
    plainly,
    redact,
    remote_url,
)
from harness.records.store import (
    CELLS,
    CONFORMANCE,
    FACTS,
    JOURNAL,
    LATEST,
    TABLE,
    VERDICTS,
    find_run,
)
from harness.records.writer import whole_file, write_text

# A run can be read from either of these.
READABLE = (JOURNAL, CELLS)
# What commands about all runs read, and what they read of a run that has no table yet.
NEEDED = (FACTS, TABLE, NOISE, VERDICTS)
INSTEAD = (JOURNAL, CELLS, CONFORMANCE)
# Small files take a round trip each; 300 runs of three at 10 ms each are 0.6 s instead of 9.
THREADS = 16


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
    return FACTS in names and bool(names & {*READABLE})


def newest_run(runs: dict[str, list[Remote]]) -> str:
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


def fetch(url: str, run: str | None = None) -> Path:
    """Copy one run, the newest if none is named, and return its folder.

    ValueError in one line if there is none, or if its upload was cut before any cell.
    """
    url = checked(url)
    with plainly(url, "read"):
        store, root = connect(url)
        name = latest(store, root) if run is None else run
        found = listed(store, root, only=name) if name and RUN_NAME.fullmatch(name) else []
        if run is None and not readable(found):
            runs = by_run(listed(store, root))
            found = runs.get(newest_run(runs), [])
        if not readable(found):
            raise ValueError(why_none(store, root, run))
        folder = copies(url) / "read"
        update(store, folder, by_run(found))
        return folder / found[0].run


def fetch_all(url: str, names: Collection[str] = NEEDED) -> Path:
    """Copy these files of every run, and return the folder of runs.

    A run that was cut short comes with its journal; one without any cell is left out, and one
    that is gone from the store goes here too. What else was fetched of a run stays if it is new.
    """
    url = checked(url)
    with plainly(url, "read"):
        store, root = connect(url)
        runs = by_run(listed(store, root))
        good = {run: files for run, files in runs.items() if readable(files)}
        folder = copies(url) / "read"
        update(store, folder, good, names=names)
        folder.mkdir(parents=True, exist_ok=True)
        forget(folder, keep=good)
        name = latest(store, root)
        point(folder, name if name in good else newest_run(good))
        return folder


def update(
    store: Any, folder: Path, runs: dict[str, list[Remote]], *, names: Collection[str] = FILES
) -> None:
    """Fetch what is missing or changed, side by side; an old copy never stays beside a new one."""
    missing: list[Remote] = []
    for run, files in runs.items():
        room = folder / run
        room.mkdir(parents=True, exist_ok=True)
        old = {one.name for one in files if not is_here(room / one.name, one)}
        new = [one for one in wanted(files, names) if one.name in old]
        for name in ({*FILES} - {one.name for one in files}) | (old - {one.name for one in new}):
            (room / name).unlink(missing_ok=True)
        missing += new
    with ThreadPoolExecutor(THREADS) as pool:
        for _ in pool.map(lambda one: download(store, one, folder / one.run), missing):
            pass


def wanted(files: list[Remote], names: Collection[str]) -> list[Remote]:
    """Pick files by name, and those that stand in where a run has no table yet."""
    cut = TABLE not in {one.name for one in files}
    return [one for one in files if one.name in names or (cut and one.name in INSTEAD)]


def is_here(path: Path, one: Remote) -> bool:
    """Tell whether a copy is of this version and whole."""
    try:
        state = path.stat()
    except OSError:
        return False
    return state.st_mtime_ns == one.mark and state.st_size == one.size


def download(store: Any, one: Remote, room: Path) -> None:
    """Copy one file, whole or not at all."""
    with whole_file(room / one.name) as partial:
        store.get_file(one.path, str(partial))
        os.utime(partial, ns=(one.mark, one.mark))


def forget(folder: Path, *, keep: Collection[str]) -> None:
    """Remove the copies of runs that are gone from the store."""
    for room in folder.iterdir():
        if room.is_dir() and room.name not in keep:
            shutil.rmtree(room)


def point(folder: Path, run: str) -> None:
    """Name the newest of the copies, or say that there is none."""
    if run:
        write_text(folder / LATEST, f"{run}\n")
    else:
        (folder / LATEST).unlink(missing_ok=True)


def place_of(results: str | None) -> str:
    """Return where runs lie, a path or a URL: the option, else ATTN_RESULTS, else results/."""
    return results or from_environment("results") or "results"


def folder_of(results: str | None, *runs: str) -> Path:
    """Return the folder of runs; of a URL a copy, brought up to date: of all runs their tables.

    Of the runs named all files are copied.
    """
    place = place_of(results)
    url = remote_url(place)
    if url is None:
        return local_folder(place)
    folder = fetch_all(url)
    for run in runs:
        if not (Path(run) / FACTS).is_file():
            fetch(url, run)
    return folder


def run_folder(results: str | None, run: str | None) -> Path:
    """Return the folder of one run, the newest if none is named; a URL's run is copied first."""
    place = place_of(results)
    if run and is_url(run):
        place, _, run = run.rstrip("/").rpartition("/")
    url = remote_url(place)
    if url is None or (run and (Path(run) / FACTS).is_file()):
        return find_run(local_folder(place), run)
    return fetch(url, run)


def from_environment(name: str) -> str | None:
    """Return ATTN_RESULTS, ATTN_DEVICE or ATTN_GRID for the option of that name."""
    return os.environ.get(f"ATTN_{name.upper()}") or None
