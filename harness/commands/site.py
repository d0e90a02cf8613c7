"""The command that turns a results folder into pages."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from harness.commands.options import Json, show
from harness.remote.mirror import folder_of

SHOWN = 5


def site(
    results: Annotated[
        str | None,
        typer.Argument(
            metavar="[DIR|URL]", help="Folder of runs (default: ATTN_RESULTS, results)"
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="Folder to write the pages into")] = Path(
        "site"
    ),
    *,
    as_json: Json = False,
) -> None:
    """Build pages on all runs that open without a server: verdicts, history, a grid explorer.

    Example: attnbench site results --out site
    """
    from harness.report.site.build import Built, build_site

    built: Built = build_site(folder_of(results), out)
    lines = [
        f"{built.page}: {_many(built.runs, 'run')}, {_many(built.cells, 'cell')}, "
        f"{built.size / 1e6:.1f} MB. Open it in a browser."
    ]
    lines += [f"left out: {why}" for why in built.without[:SHOWN]]
    if len(built.without) > SHOWN:
        lines.append(f"left out: {len(built.without) - SHOWN} more runs; the pages list them all")
    show(asdict(built) | {"page": str(built.page)}, "\n".join(lines), as_json=as_json)


def _many(count: int, name: str) -> str:
    return f"{count:,} {name}" + "s" * (count != 1)
