"""Commands that write runs for others: a file for another tool, pages for a browser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.options import Json, Results, RunName, show
from harness.records.remote.download import folder_of, run_folder

if TYPE_CHECKING:
    from harness.records.store import Run


# Runs that the pages leave out, named on the terminal; the pages list them all.
SHOWN = 5


class Format(StrEnum):
    """What a run can be written as."""

    GHA_BENCHMARK = "gha-benchmark"
    BENCHER = "bencher"
    JUNIT = "junit"
    JSON = "json"


def export(
    run: RunName = None,
    results: Results = None,
    *,
    form: Annotated[Format, typer.Option("--format", help="Who is to read it")],
    out: Annotated[str, typer.Option(metavar="FILE|-", help="Where to write; - prints it")] = "-",
) -> None:
    """Write a run for another tool: github-action-benchmark, Bencher, a CI server, a program.

    Cells without a time are left out for the first two, and said with their reason in the others.
    Example: attnbench export --format junit --out junit.xml
    """
    from harness.records.store import load_run

    text = exporter(form)(load_run(run_folder(results, run)))
    if out == "-":
        typer.echo(text, nl=False)
    else:
        save(Path(out), text)


def save(path: Path, text: str) -> None:
    """Write a whole file or nothing; ValueError if there is no such folder."""
    from harness.records.writer import write_text

    if not path.parent.is_dir():
        raise ValueError(f"cannot write {path}: there is no folder {path.parent}")
    write_text(path, text)


def exporter(form: Format) -> Callable[[Run], str]:
    """Return the function that turns a run into the text of a format."""
    from harness.report.exports.benchmarks import as_bencher, as_gha_benchmark
    from harness.report.exports.junit import as_junit
    from harness.report.exports.rows import as_json

    known: dict[Format, Callable[[Run], str]] = {
        Format.GHA_BENCHMARK: as_gha_benchmark,
        Format.BENCHER: as_bencher,
        Format.JUNIT: as_junit,
        Format.JSON: as_json,
    }
    return known[form]


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
