"""Compare this project's engine with other tools and write docs/peers.md.

Run it from a checkout on an idle machine: python benchmarks/peers.py
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

ROOT = Path(__file__).resolve().parent.parent
# A checkout need not be installed.
sys.path[:] = [str(ROOT), *(one for one in sys.path if one != str(ROOT / "benchmarks"))]

from benchmarks.cells import first_cells  # noqa: E402
from benchmarks.page import page  # noqa: E402
from benchmarks.plan import Plan  # noqa: E402
from benchmarks.runner import Place  # noqa: E402
from benchmarks.tools import Tool, tools_for  # noqa: E402
from harness.measure.machine import facts as machine_facts  # noqa: E402
from harness.measure.machine import fingerprint  # noqa: E402
from harness.measure.protocol import default_threads  # noqa: E402
from harness.run.settings import find_device  # noqa: E402

PACKAGES = ("torch", "pytest-benchmark", "pyperf", "triton")
BUSY_SHARE = 0.5  # of the cores
BUSY = "**The machine was busy before the start: read nothing into these figures.**"


def main(
    out: Annotated[Path, typer.Option(help="Markdown file to write")] = ROOT / "docs/peers.md",
    raw: Annotated[Path, typer.Option(help="Raw results: written, or read with --again")] = ROOT
    / "benchmarks/results/peers.json",
    *,
    cells: Annotated[int, typer.Option(help="How many of the 12 cells")] = 12,
    repeats: Annotated[int, typer.Option(help="Rounds of all tools at most")] = 6,
    half_width: Annotated[float, typer.Option(help="Relative half-width to reach")] = 0.02,
    budget: Annotated[float, typer.Option(help="Seconds after which no run starts")] = 570.0,
    slow_cells: Annotated[int, typer.Option(help="Cells for pyperf: each costs many starts")] = 4,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N")] = "auto",
    tools: Annotated[str, typer.Option(help="Only these, as A,B")] = "",
    again: Annotated[bool, typer.Option(help="Only write the page anew from --raw")] = False,
) -> None:
    """Measure what measuring costs, and write the page.

    Example: python benchmarks/peers.py --cells 3 --repeats 1 --budget 60 --out /tmp/peers.md
    """
    if not again:
        check(half_width, repeats, budget=budget)
        place = Place(device=find_device(device), threads=default_threads(), folder=Path())
        plan = Plan(
            place=place,
            tools=chosen_tools(tools, tools_for(place.device)),
            cells=first_cells(cells, place.device),
            target=half_width,
            budget_s=budget,
            slow_cells=slow_cells,
            tell=lambda text: typer.echo(text, err=True),
        )
        data = measure(plan, repeats)
        raw.parent.mkdir(parents=True, exist_ok=True)
        raw.write_text(json.dumps(data), encoding="utf-8")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(page(json.loads(raw.read_text(encoding="utf-8"))), encoding="utf-8")
    typer.echo(f"wrote {out}")


def check(half_width: float, repeats: int, *, budget: float) -> None:
    """Refuse figures that mean nothing, with ValueError."""
    if not 0 < half_width < 1:
        raise ValueError(f"half-width must lie between 0 and 1, not {half_width:g}")
    if repeats < 1 or budget <= 0:
        raise ValueError(f"repeats and budget must be above 0, not {repeats} and {budget:g}")


def measure(plan: Plan, repeats: int) -> dict[str, Any]:
    """Run the plan in a folder of its own and return its rows with facts; plain JSON values."""
    load, started = os.getloadavg()[0], datetime.now(UTC)
    with tempfile.TemporaryDirectory(prefix="attention-peers-") as folder:
        plan.place = replace(plan.place, folder=Path(folder))
        plan.measure(repeats)
    return facts(plan, started=started, load=(load, os.getloadavg()[0]))


def chosen_tools(names: str, known: list[Tool]) -> list[Tool]:
    """Return the tools asked for, all if none is named; ValueError if one cannot be had."""
    wanted = [name for name in names.split(",") if name]
    valid = {tool.name: tool for tool in known}
    for name in wanted:
        if name not in valid:
            raise ValueError(f"unknown tool {name!r}; valid: {', '.join(valid)}")
    chosen = [valid[name] for name in wanted] or known
    if "pyperf" in {tool.name for tool in chosen} and not find_spec("pyperf"):
        others = ",".join(name for name in valid if name != "pyperf")
        raise ValueError(f"pyperf is missing: pip install '.[peers]', or --tools {others}")
    return chosen


def facts(plan: Plan, *, started: datetime, load: tuple[float, float]) -> dict[str, Any]:
    """Return everything that the page needs."""
    machine = machine_facts(threads=plan.place.threads)
    return {
        "started": started.isoformat(timespec="minutes"),
        "wall_s": time.monotonic() - plan.began,
        "machine": fingerprint(machine, device=plan.place.device),
        "device": plan.place.device,
        "threads": plan.place.threads,
        "load": load,
        "remark": remark(load[0], machine["cores"]),
        "command": " ".join(["python", "benchmarks/peers.py", *sys.argv[1:]]),
        "target": plan.target,
        "cells": plan.cells,
        "tools": {tool.name: tool.facts() for tool in plan.tools},
        "settings": plan.settings,
        "failures": plan.failures,
        "versions": {name: found for name in PACKAGES if (found := found_version(name))},
        "rows": plan.rows,
    }


def remark(before: float, cores: int) -> str:
    """Warn of other work by the load before the run: what comes after is the run's own."""
    return BUSY if before > BUSY_SHARE * cores else ""


def found_version(name: str) -> str | None:
    """Return the version of a package, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


if __name__ == "__main__":
    try:
        typer.run(main)
    except (ValueError, OSError) as error:
        typer.echo(f"peers: {error}", err=True)
        sys.exit(2)
