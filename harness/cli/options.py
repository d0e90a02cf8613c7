"""Options that several commands share, and the one way in which commands print."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.console import Console

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


def show(rows: Any, text: Any, *, as_json: bool) -> None:
    """Print the same thing for a machine or for a person."""
    if as_json:
        print(json.dumps(rows, indent=1, allow_nan=False))
    else:
        Console(width=WIDTH, highlight=False).print(text, markup=False)
