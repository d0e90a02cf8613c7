"""Commands that list what can be measured: the backends of this machine, the cases of a grid."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.cli.options import Device, Json, show
from harness.run.settings import find_device


def backends(device: Device = "auto", *, as_json: Json = False) -> None:
    """List every backend and, by a tiny call on each, whether it works here.

    Example: attnbench backends --device cpu
    """
    from harness.report.words.listing import backend_table
    from harness.run.pool import probing_pool
    from harness.run.settings import known_backends

    chosen, names = find_device(device), known_backends([])
    with probing_pool(chosen) as pool:
        reasons = pool.probe(names)
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
    from harness.cases.grid import load_grid
    from harness.report.words.listing import case_table

    loaded = load_grid(name)
    cases = list(loaded.cases(find_device(device)))
    rows = [{"suite": suite, "id": case.id} | case.as_dict() for suite, case in cases]
    show(rows, case_table(loaded, cases), as_json=as_json)
