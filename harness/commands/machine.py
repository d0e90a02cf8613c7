"""Commands about this machine: which backends work, what a grid asks, what would spoil it."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.commands.options import Device, Json, Results, show
from harness.remote.address import local_folder
from harness.remote.mirror import place_of
from harness.settings import find_device


def backends(device: Device = "auto", *, as_json: Json = False) -> None:
    """List every backend and, by a tiny call on each, whether it works here.

    Example: attnbench backends --device cpu
    """
    from harness.pool.orders import WorkerSpec
    from harness.pool.pool import make_pool
    from harness.report.listing import backend_table
    from harness.settings import known_backends

    chosen = find_device(device)
    pool = make_pool("local", WorkerSpec(device=chosen), replicas=1, timeout_s=120.0)
    try:
        names = known_backends([])
        reasons = pool.probe(names)
    finally:
        pool.close()
    rows = [{"backend": name, "device": chosen, "reason": reasons.get(name)} for name in names]
    show(rows, backend_table(rows), as_json=as_json)


def grid(
    name: Annotated[str, typer.Argument(help="Name of a grid, or a path to a .toml file")],
    device: Device = "auto",
    *,
    as_json: Json = False,
) -> None:
    """List the cases of a grid, without measuring any.

    Example: attnbench grid quick
    """
    from harness.grid import load_grid
    from harness.report.listing import case_table

    loaded = load_grid(name)
    cases = list(loaded.cases(find_device(device)))
    rows = [{"suite": suite, "id": case.id} | case.as_dict() for suite, case in cases]
    show(rows, case_table(loaded, cases), as_json=as_json)


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
        from harness.commands.noise import noise as show_noise

        given = {"grid": grid or "smoke", "results": place_of(results)}
        return show_noise(own | given, as_json=as_json)
    stray = [name for name, value in own.items() if value is not None]
    if stray:
        raise ValueError(f"--{stray[0]} belongs to `doctor --noise`")
    return check(results, as_json=as_json)


def check(results: Results, *, as_json: bool) -> None:
    """Show what the doctor finds without measuring."""
    from dataclasses import asdict

    from harness.measure.doctor import checks
    from harness.report.listing import check_table

    found = checks(local_folder(place_of(results)))
    show([asdict(check) for check in found], check_table(found), as_json=as_json)
    if any(check.level == "fail" for check in found):
        raise typer.Exit(1)
