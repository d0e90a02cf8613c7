"""A/A run: the same cells under two labels in the same rounds, and its noise.csv."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.analysis.fits.intervals import REPLICAS_LEAST
from harness.analysis.tracking.noise import noise_table
from harness.cases.grid import Cell
from harness.records.noise import twin_of, write_noise
from harness.records.store import load_run
from harness.run.progress import Progress
from harness.run.session import Session
from harness.run.settings import Kind, Settings, resolve


def noise_settings(options: Mapping[str, Any]) -> Settings:
    """Return the settings of an A/A run, with each backend under both of its labels.

    `options` are those of `settings.resolve`. Every pass is made, however long it takes: a cell
    needs three processes. ValueError for fewer.
    """
    given = options.get("replicas")
    if given is not None and given < REPLICAS_LEAST:
        raise ValueError(
            f"--replicas must be at least {REPLICAS_LEAST}, not {given}: "
            "fewer processes cannot tell how much they differ"
        )
    settings = resolve(options)
    return replace(
        settings,
        kind=Kind.AA_RUN,
        grid=settings.grid.model_copy(update={"budget_s": None}),
        replicas=max(settings.replicas, REPLICAS_LEAST),
        backends=tuple(label for name in settings.backends for label in (name, twin_of(name))),
    )


def noise_cells(settings: Settings) -> list[Cell]:
    """List every cell of the grid, each followed by its twin; ValueError if there is none."""
    works = {
        name: work for name, work in settings.works().items() if twin_of(name) in settings.backends
    }
    suites = dict.fromkeys(series.suite for series in settings.grid.series)
    singles = [
        cell for suite in suites for cell in settings.grid.cells(suite, works, settings.device)
    ]
    distinct = {cell.name: cell for cell in singles}.values()
    if not distinct:
        raise ValueError(f"the grid {settings.grid.name!r} has no cell for {', '.join(works)}")
    return [
        one for cell in distinct for one in (cell, replace(cell, backend=twin_of(cell.backend)))
    ]


def measure_noise(settings: Settings, progress: Progress) -> Path:
    """Measure an A/A run, write its noise.csv, and return its folder."""
    cells = noise_cells(settings)
    session = Session(settings, cells, progress.advance)
    session.start()
    progress.say(f"{len(cells) // 2} cells under two labels each, results in {session.folder}")
    progress.start(session.steps())
    try:
        session.run_passes()
        for cell in cells:
            session.outcome(cell)
    finally:
        progress.stop()
        session.finish()
    run = load_run(session.folder)
    write_noise(session.folder, noise_table(run.table, run.samples))
    uploaded = session.publisher.close()
    if uploaded:
        progress.say(uploaded)
    return session.folder
