"""Markdown: the report of a run, its README.md with figures and verdicts.json."""

from __future__ import annotations

from pathlib import Path
from typing import IO, TYPE_CHECKING

from rich.console import Console

from harness.records.store import VERDICTS, load_run
from harness.records.writer import write_json, write_text
from harness.report import summary
from harness.report.figures.canvas import Gallery
from harness.report.sections import SECTIONS, write_section
from harness.report.sections.cost import join
from harness.report.view import View, make_view
from harness.report.words.markup import escape

if TYPE_CHECKING:
    from harness.records.store import Run

README = "README.md"


def build_report(run: Run, reports: Path) -> Path:
    """Write reports/<run>/README.md, its figures and verdicts.json; return the README's path.

    The verdicts are written beside the results too. A run that was cut short, or in which nothing
    was measured, gets its report all the same: what is missing is said in its place.
    """
    return write_report(make_view(run), reports)


def write_report(view: View, reports: Path) -> Path:
    """Write the report of a run that is judged already."""
    folder = reports / view.run.name
    folder.mkdir(parents=True, exist_ok=True)
    gallery = Gallery(folder)
    write_text(folder / README, render(view, gallery))
    gallery.sweep()
    rows = [verdict.as_dict() for verdict in view.verdicts]
    for place in (folder, view.run.folder):
        write_json(place / VERDICTS, rows)
    return folder / README


def render(view: View, gallery: Gallery) -> str:
    """Return the report as Markdown; its figures are written on the way."""
    parts = [_title(view), _notice(view), _summary(view)]
    for title in SECTIONS:
        parts.append(join(f"## {title}", write_section(title, view, gallery)))
    return join(*parts) + "\n"


def _title(view: View) -> str:
    machine = f", {escape(view.machine)}" if view.machine else ""
    return f"# Attention benchmark on {escape(view.device)}{machine}"


def _notice(view: View) -> str:
    """Warn that a run is not whole."""
    if not view.cut:
        return ""
    count = len(view.table)
    return (
        "> [!WARNING]\n"
        f"> This run was cut short, or is still going on: {count:,} cells had come back. "
        "What follows rests on them alone."
    )


def _summary(view: View) -> str:
    facts = view.run.facts
    grid = view.mapping("grid").get("name")
    words = [f"Run {escape(view.run.name)}"]
    words += [f"grid {escape(grid)}"] if grid else []
    words += [f"started {escape(facts.get('started'))}"] if facts.get("started") else []
    text = " ".join(escape(sentence) for sentence in summary.sentences(view))
    return join(", ".join(words) + ".", text)


def report_and_summarise(folder: Path, reports: Path, file: IO[str]) -> None:
    """Read the run, write reports/<run>/ and verdicts.json, and print the summary."""
    from harness.report.terminal import WIDTH, print_view

    view = make_view(load_run(folder))
    path = write_report(view, reports)
    print_view(view, path, Console(file=file, width=WIDTH, highlight=False))
