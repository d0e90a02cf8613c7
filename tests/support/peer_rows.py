"""Made-up measurements: rows of tools whose every figure is known."""

from typing import Any

from benchmarks.outcome import Outcome, outcome

CELLS = ["one", "two"]


def found(cell: str, middle: float, *, spread: float = 0.0, measure_s: float = 1.0) -> Outcome:
    """Eleven samples around a middle; the order-statistic interval is the 2nd to the 10th."""
    samples = [middle * (1 + spread * step / 5) for step in range(-5, 6)]
    stated = (middle * (1 - spread / 2), middle * (1 + spread / 2))
    seen = outcome(cell, [samples], estimate_s=middle, stated_s=stated, measure_s=measure_s)
    return seen | {"reached": True}


def row(tool: str, *outcomes: Outcome, stage: str = "repeat", wall_s: float = 4.0) -> Any:
    """One run of a tool."""
    known = {"tool": tool, "stage": stage, "round": 0, "wall_s": wall_s, "settings": {}}
    return known | {"outcomes": list(outcomes)}


def facts(*tools: str) -> dict[str, Any]:
    """What the page is told of the tools."""
    known = {"states": "quartiles", "knob": "", "default": 0.0, "a_round": None, "clock": "host"}
    return {tool: dict(known) for tool in tools}


def long_run(name: str, *, times: float = 1.0, drifts: Any = (-0.01, 0.0, 0.01)) -> list[Any]:
    """A reference of some processes, in which the cells take that many times 1 s and 2 s."""
    return [
        row(
            name,
            found("one", times * (1.0 + drift)),
            found("two", times * (2.0 + drift)),
            stage="reference",
        )
        for drift in drifts
    ]


def measured(*rows: Any, tools: tuple[str, ...], turns: float | None = None) -> dict[str, Any]:
    """A whole measurement of two cells: hot 1 s and 2 s, and `turns` times that in turns."""
    truth = long_run("reference") + (long_run("turns", times=turns) if turns else [])
    return {
        "rows": [*truth, *rows],
        "tools": facts(*tools),
        "cells": CELLS,
        "target": 0.02,
        "command": "python benchmarks/peers.py",
        "started": "2026-01-01T00:00+00:00",
        "machine": "cpu-made-up",
        "device": "cpu",
        "threads": 1,
        "load": [0.1, 0.9],
        "wall_s": 100.0,
        "remark": "",
        "failures": {},
        "versions": {"torch": "2.13.0"},
    }
