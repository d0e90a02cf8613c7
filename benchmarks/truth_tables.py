"""Truth tables: every tool against both references, and the references against each other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.costs import Data
from benchmarks.markdown import share, table
from benchmarks.truth import KINDS, process_medians, reference_spread
from benchmarks.verdict import NAMES
from harness.analysis.fits.intervals import median_interval

LEAST_PROCESSES = 10
CELL = re.compile(r"(?P<backend>.+)\.\w+-t(?P<length>\d+)-")


def stated_table(true: pd.DataFrame, data: Data) -> str:
    """Show what each tool states against both references; bold is what it is to be judged by."""
    rows = [
        [
            str(name),
            data["tools"][name]["states"],
            "±{:.1%}".format(row[f"{row['own']}_stated_width"]),
            *(marked(held(row, kind, what="stated"), row, kind=kind) for kind in KINDS),
            *(marked(errors(row, kind), row, kind=kind) for kind in KINDS),
        ]
        for name, row in true.iterrows()
    ]
    holds = [f"holds {NAMES[kind]}" for kind in KINDS]
    return table(
        ["tool", "states", "width", *holds, *(f"off {NAMES[kind]}" for kind in KINDS)], rows
    )


def samples_table(true: pd.DataFrame) -> str:
    """Show what intervals of the tools' own samples would hold."""
    rows = [
        [
            str(name),
            *(
                marked(wide(row, kind, what=what), row, kind=kind)
                for what in ("median", "joined")
                for kind in KINDS
            ),
        ]
        for name, row in true.iterrows()
        if row["hot_median_of"]
    ]
    names = {"median": "of the median", "joined": "three joined"}
    heads = [f"{said}, {NAMES[kind]}" for said in names.values() for kind in KINDS]
    return table(["tool", *heads], rows, words=1)


def marked(text: str, row: pd.Series[Any], *, kind: str) -> str:
    """Set in bold what a tool is to be judged by."""
    return f"**{text}**" if row["own"] == kind and text != "-" else text


def held(row: pd.Series[Any], kind: str, *, what: str) -> str:
    """Show how many intervals hold a reference, or - where there is none."""
    intervals = row[f"{kind}_{what}_of"]
    return share(row[f"{kind}_{what}_held"], intervals) if intervals else "-"


def wide(row: pd.Series[Any], kind: str, *, what: str) -> str:
    """Show how many intervals hold a reference, and their width."""
    text = held(row, kind, what=what)
    return text if text == "-" else f"{text} ±{row[f'{kind}_{what}_width']:.1%}"


def errors(row: pd.Series[Any], kind: str) -> str:
    """Show the median error with its sign, and the sizes of the median and of the 90 % one."""
    bias, error, most = (row[f"{kind}_{name}"] for name in ("bias", "error", "error_90"))
    return "-" if pd.isna(bias) else f"{bias:+.1%}; {error:.1%}, {most:.1%}"


def turns_table(data: Data) -> str:
    """Show how much longer a call takes in turns, a row for each length."""
    found: dict[int, dict[str, tuple[float, float, float]]] = {}
    for cell, apart in ratios(data):
        if name := CELL.match(cell):
            interval = (float(np.median(apart)), *median_interval(apart))
            found.setdefault(int(name["length"]), {})[name["backend"]] = interval
    backends = list(dict.fromkeys(name for row in found.values() for name in row))
    rows = [
        [str(length), *(ratio(row.get(name)) for name in backends), middle(row)]
        for length, row in sorted(found.items())
    ]
    return table(["T", *backends, "median"], rows, words=1)


def middle(row: dict[str, tuple[float, float, float]]) -> str:
    """Show the median ratio over the cells of a length."""
    return f"{np.median([one[0] for one in row.values()]):.3f}"


def ratios(data: Data) -> Iterator[tuple[str, list[float]]]:
    """Yield (cell, in turns / hot), the processes paired as they followed each other."""
    turns = process_medians(data, "turns")
    for cell, hot in process_medians(data, "hot").items():
        if pairs := list(zip(turns.get(cell, []), hot, strict=False)):
            yield cell, [among / alone for among, alone in pairs]


def ratio(found: tuple[float, float, float] | None) -> str:
    """Show a ratio with its 95 % interval."""
    return "-" if found is None else "{:.3f} \\[{:.3f}, {:.3f}\\]".format(*found)


def lengths_of_reference(data: Data) -> str:
    """Say how long each reference was, and how well its processes agree."""
    return ", ".join(
        f"{processes} processes {NAMES[kind]} (own 95 % interval ±{spread:.1%}, median over cells)"
        for kind in KINDS
        for processes, spread in [reference_spread(data, kind)]
        if processes
    )


def few(data: Data) -> str:
    """Warn of references of few processes; one that is missing leaves a gap in the tables."""
    counts = [reference_spread(data, kind)[0] for kind in KINDS]
    least = min(filter(None, counts), default=0)
    return f"Only {least} processes gave the truth." if least < LEAST_PROCESSES else ""
