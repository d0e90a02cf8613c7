"""The command that writes a run in the format of another tool."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.options import Results, RunName
from harness.remote.mirror import run_folder

if TYPE_CHECKING:
    from harness.store import Run


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
    from harness.store import load_run

    text = exporter(form)(load_run(run_folder(results, run)))
    if out == "-":
        typer.echo(text, nl=False)
    else:
        save(Path(out), text)


def save(path: Path, text: str) -> None:
    """Write a whole file or nothing; ValueError if there is no such folder."""
    from harness.writer import write_text

    if not path.parent.is_dir():
        raise ValueError(f"cannot write {path}: there is no folder {path.parent}")
    write_text(path, text)


def exporter(form: Format) -> Callable[[Run], str]:
    """Return the function that turns a run into the text of a format."""
    from harness.export.bencher import as_bencher
    from harness.export.gha_benchmark import as_gha_benchmark
    from harness.export.junit import as_junit
    from harness.export.rows import as_json

    known: dict[Format, Callable[[Run], str]] = {
        Format.GHA_BENCHMARK: as_gha_benchmark,
        Format.BENCHER: as_bencher,
        Format.JUNIT: as_junit,
        Format.JSON: as_json,
    }
    return known[form]
