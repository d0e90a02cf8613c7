"""Options that several commands share, and the one way in which commands print."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from harness.remote.address import is_url, local_folder, remote_url
from harness.settings import from_environment
from harness.store import FACTS, find_run

WIDTH = 100
RunName = Annotated[
    str | None, typer.Argument(metavar="[RUN]", help="Name or folder of a run; the newest if none")
]
Results = Annotated[
    str | None,
    typer.Option(
        "--results", metavar="DIR|URL", help="Folder of runs (default: ATTN_RESULTS, results)"
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a machine to read")]
Device = Annotated[str, typer.Option("--device", help="auto, cpu, cuda or cuda:N")]


def place_of(results: str | None) -> str:
    """Return where runs lie, a path or a URL: the option, else ATTN_RESULTS, else results/."""
    return results or from_environment("results") or "results"


def folder_of(results: str | None, *runs: str) -> Path:
    """Return the folder of runs; of a URL a copy, brought up to date: of all runs their tables.

    Of the runs named all files are copied.
    """
    from harness.remote.mirror import fetch, fetch_all

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
    from harness.remote.mirror import fetch

    place = place_of(results)
    if run and is_url(run):
        place, _, run = run.rstrip("/").rpartition("/")
    url = remote_url(place)
    if url is None or (run and (Path(run) / FACTS).is_file()):
        return find_run(local_folder(place), run)
    return fetch(url, run)


def show(rows: Any, text: Any, *, as_json: bool) -> None:
    """Print the same thing for a machine or for a person."""
    if as_json:
        print(json.dumps(rows, indent=1, allow_nan=False))
    else:
        Console(width=WIDTH, highlight=False).print(text, markup=False)
