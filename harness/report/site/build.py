"""Build: a results folder in, a folder of pages out that opens from a disk without a network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from harness.analysis.tracking.changes import by_fingerprint
from harness.records.writer import write_text
from harness.report.site.core import FACTS_PER_FILE, core, newest_run
from harness.report.site.matrix import LoadedRun, RunMatrix, load_runs, matrix_of
from harness.report.site.pack import Chunk, chunks, contents, script

PAGE, CHARTS = "index.html", "plotly.min.js"
DATA, ASSETS = "data", "assets"


@dataclass(frozen=True)
class Built:
    """Say what was made: the page, how many runs and cells it shows, what was left out."""

    page: Path
    runs: int
    cells: int
    size: int
    without: list[str]


def build_site(results: Path, out: Path) -> Built:
    """Write the pages of every run under `results` into `out`, over an older site if there is one.

    ValueError if there is no run to show, or if `out` holds something that is not such a site.
    """
    _check_folder(out)
    runs, without = load_runs(results)
    matrix = matrix_of(runs)
    parts = chunks(matrix)
    scripts = dict(_scripts(runs, matrix, parts))
    scripts["core"] = core(runs, matrix, parts=parts, without=without)
    _clear(out)
    for name, value in scripts.items():
        write_text(out / DATA / f"{name}.js", script(name, value))
    _copy_assets(out)
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    return Built(out / PAGE, len(runs), matrix.cells, size, without)


def _scripts(
    runs: list[LoadedRun], matrix: RunMatrix, parts: list[Chunk]
) -> Iterator[tuple[str, dict[str, Any] | list[Any]]]:
    """Yield the name and the value of each script file but the first one."""
    for number, part in enumerate(parts):
        yield f"cells-{number}", contents(matrix, part)
    for start in range(0, len(runs), FACTS_PER_FILE):
        facts = [run.facts for run in runs[start : start + FACTS_PER_FILE]]
        yield f"facts-{start // FACTS_PER_FILE}", facts
    for group in by_fingerprint(run.fingerprint for run in runs):
        before = runs[group[-2]] if len(group) > 1 else None
        yield f"newest-{group[-1]}", newest_run(runs[group[-1]], before)


def _check_folder(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise ValueError(f"{out} is a file: choose a folder to write the site into")
    ours = (out / DATA / "core.js").is_file()
    if out.is_dir() and any(out.iterdir()) and not ours:
        raise ValueError(f"{out} holds something else than a site: choose a new or empty folder")


def _clear(out: Path) -> None:
    """Make the folders, and remove the data of an older site, which may have had more files."""
    for name in (DATA, ASSETS):
        (out / name).mkdir(parents=True, exist_ok=True)
    for path in (out / DATA).glob("*.js"):
        path.unlink()


def _copy_assets(out: Path) -> None:
    """Put page, styles and scripts beside the data, the charting library with them."""
    from plotly.offline import get_plotlyjs

    for asset in files("harness.report.site").joinpath(ASSETS).iterdir():
        place = out if asset.name == PAGE else out / ASSETS
        write_text(place / asset.name, asset.read_text(encoding="utf-8"))
    write_text(out / ASSETS / CHARTS, get_plotlyjs())
