"""The command that says what would spoil a measurement here, or measures how noisy it is."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

import typer

from harness.cli.options import Json, Results, show
from harness.records.remote.address import local_folder
from harness.records.remote.download import place_of


def doctor(
    results: Results = None,
    *,
    noise: Annotated[
        bool, typer.Option("--noise", help="Measure how far equal runs differ (a minute or two)")
    ] = False,
    grid: Annotated[
        str | None, typer.Option(help="With --noise: name or .toml file of a grid (smoke)")
    ] = None,
    backends: Annotated[str | None, typer.Option(help="With --noise: only these, A,B")] = None,
    replicas: Annotated[
        int | None, typer.Option(help="With --noise: worker processes, 3 or more")
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="With --noise: auto, cpu, cuda or cuda:N")
    ] = None,
    as_json: Json = False,
) -> None:
    """Check what would spoil a measurement on this machine, with advice; 1 if something would.

    With --noise, measure the same cells twice, side by side (an A/A run); show
    for each how far unchanged code differs and which change can be told.

    Example: attnbench doctor --noise --grid smoke
    """
    own = {"grid": grid, "backends": backends, "replicas": replicas, "device": device}
    if noise:
        given = {"grid": grid or "smoke", "results": place_of(results)}
        return show_noise(own | given, as_json=as_json)
    stray = [name for name, value in own.items() if value is not None]
    if stray:
        raise ValueError(f"--{stray[0]} belongs to `doctor --noise`")
    return show_checks(results, as_json=as_json)


def show_checks(results: Results, *, as_json: bool) -> None:
    """Show what the doctor finds without measuring."""
    from harness.cli.machine_checks import checks
    from harness.report.words.listing import check_table

    found = checks(local_folder(place_of(results)))
    show([asdict(check) for check in found], check_table(found), as_json=as_json)
    if any(check.level == "fail" for check in found):
        raise typer.Exit(1)


def show_noise(options: Mapping[str, Any], *, as_json: bool) -> None:
    """Measure an A/A run and show the noise of each cell; exit 1 if a cell failed.

    `options` are those of `settings.resolve`. ValueError if no cell could be timed.
    """
    from harness.records.noise import read_noise
    from harness.records.record import FAILURES
    from harness.records.store import load_run
    from harness.report.tables.noise import noise_listing, noise_rows
    from harness.run.aa_run import measure_noise, noise_settings
    from harness.run.progress import Progress

    # Standard output is for the table, which a machine may read.
    folder = measure_noise(noise_settings(options), Progress(sys.stderr))
    run, table = load_run(folder), read_noise(folder)
    rows = {"run": folder.name, "cells": noise_rows(table)}
    show(rows, noise_listing(run, table), as_json=as_json)
    if run.table["status"].isin(list(FAILURES)).any():
        raise typer.Exit(1)
