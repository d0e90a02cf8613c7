"""The part of `doctor` that measures: an A/A run and its noise floors."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import typer

from harness.commands.options import show


def noise(options: Mapping[str, Any], *, as_json: bool) -> None:
    """Measure an A/A run and show the noise of each cell; exit 1 if a cell failed.

    `options` are those of `settings.resolve`. ValueError if no cell could be timed.
    """
    from harness.noise import read_noise
    from harness.pool.noise_run import measure_noise, noise_settings
    from harness.record import FAILURES
    from harness.report.progress import Progress
    from harness.report.tables.noise_floor import noise_listing, noise_rows
    from harness.store import load_run

    # Standard output is for the table, which a machine may read.
    folder = measure_noise(noise_settings(options), Progress(sys.stderr))
    run, table = load_run(folder), read_noise(folder)
    rows = {"run": folder.name, "cells": noise_rows(table)}
    show(rows, noise_listing(run, table), as_json=as_json)
    if run.table["status"].isin(list(FAILURES)).any():
        raise typer.Exit(1)
