"""Explain: an example step by step with every backend's answer beside it, for the terminal."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from harness.cases.example import Example, Matrix, Step, steps
from harness.report.words.listing import plain_table

SHOWN = 8  # rows and columns of a matrix; wider ones do not fit 100 columns
ANSWER = 4  # numbers of an answer
LARGEST_DENOMINATOR = 36


def explain_table(example: Example, answers: dict[str, dict[str, Any]]) -> RenderableType:
    """Show the steps of an example, then what each backend gave."""
    found = steps(example)
    parts: list[RenderableType] = [Text(example.title, style="bold"), Text("")]
    for number, step in enumerate(found, start=1):
        parts += [Text(f"{number}. {step.name}: {step.formula}"), matrix(step), Text("")]
    parts += [Text("What the backends give for the output"), answer_table(found[-1], answers)]
    parts.append(Text(""))
    return Group(*parts)


def matrix(step: Step) -> Table:
    """Show a matrix, one row per query, cut to what fits."""
    rows, columns = step.values.shape
    table = Table(box=None, show_header=False, pad_edge=True, padding=(0, 2))
    for row in step.values[:SHOWN]:
        more = ["..."] * (columns > SHOWN)
        table.add_row(*(number(float(value)) for value in row[:SHOWN]), *more)
    if rows > SHOWN:
        table.add_row(f"... {rows - SHOWN} more rows")
    return table


def answer_table(output: Step, answers: dict[str, dict[str, Any]]) -> Table:
    """Show the first numbers of each answer and how far it is off, or why there is none."""
    table = plain_table("backend", "dtype", "first numbers", "off by")
    right = output.values
    for name, answer in answers.items():
        if "output" not in answer:
            table.add_row(name, "-", Text(answer["reason"]), "-")
            continue
        flat = [math.nan if value is None else value for row in answer["output"] for value in row]
        more = ", ..." if len(flat) > ANSWER else ""
        first = ", ".join(f"{value:.6g}" for value in flat[:ANSWER]) + more
        table.add_row(name, answer["dtype"], first, f"{off_by(flat, right):.1e}")
    return table


def off_by(flat: list[float], right: Matrix) -> float:
    """Return the largest difference between an answer and the output worked out."""
    differences = [abs(a - float(b)) for a, b in zip(flat, right.ravel(), strict=True)]
    return math.nan if any(map(math.isnan, differences)) else max(differences)


def number(value: float) -> str:
    """Write a number, as a fraction beside it where it is a simple one."""
    if math.isinf(value):
        return "-inf" if value < 0 else "inf"
    fraction = Fraction(value).limit_denominator(LARGEST_DENOMINATOR)
    simple = fraction.denominator > 1 and abs(float(fraction) - value) < 1e-12
    return f"{value:.4f} = {fraction}" if simple else f"{value:.4f}"


def as_json(example: Example, answers: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the same for a machine: -inf and NaN are null."""
    found = steps(example)
    named = [
        {
            "name": step.name,
            "formula": step.formula,
            "values": [
                [float(v) if math.isfinite(v) else None for v in row] for row in step.values
            ],
        }
        for step in found
    ]
    return {"title": example.title, "steps": named, "answers": answers}
