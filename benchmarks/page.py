"""Page: Markdown from the raw rows of a measurement; a pure function of its JSON."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks import truth_tables
from benchmarks.costs import Data, costs, defaults
from benchmarks.markdown import share, table
from benchmarks.truth import truths
from benchmarks.verdict import default_sentence, sentences

TEXT = Path(__file__).with_name("page.md").read_text(encoding="utf-8")


def page(data: Data) -> str:
    """Write the page of one measurement."""
    cost, true = costs(data), truths(data)
    found = defaults(data)
    said = [*sentences(cost, true), default_sentence(cost, found, len(data["cells"]))]
    return TEXT.format(
        count=len(data["cells"]),
        target=data["target"],
        command=data["command"],
        when=when(data),
        warning=" ".join(filter(None, (data["remark"], truth_tables.few(data)))),
        failures="".join(f"- `{name}` failed: {why}\n" for name, why in data["failures"].items()),
        verdict="\n".join(f"- {sentence}" for sentence in said),
        costs=cost_table(cost, data),
        stated=truth_tables.stated_table(true, data),
        samples=truth_tables.samples_table(true),
        turns=truth_tables.turns_table(data),
        references=truth_tables.lengths_of_reference(data),
        defaults=default_table(found, data),
        lengths=lengths(data),
    )


def when(data: Data) -> str:
    """Say when and where it was measured, an item a line."""
    rounds = len({row["round"] for row in data["rows"] if row["stage"] == "repeat"})
    before, after = data["load"]
    items = [
        f"Measured {data['started']}, {data['wall_s']:.0f} s in all, rounds: {rounds}",
        f"Machine {data['machine']}, device {data['device']}, threads: {data['threads']}",
        f"Load of the machine {before:.1f} before and {after:.1f} after",
        "Versions: " + ", ".join(f"{name} {found}" for name, found in data["versions"].items()),
    ]
    return "\n".join(f"- {item}" for item in items)


def lengths(data: Data) -> str:
    """List the lengths among the cells, from their names."""
    found = {int(length) for length in re.findall(r"-t(\d+)-", " ".join(data["cells"]))}
    return ", ".join(map(str, sorted(found)))


def cost_table(cost: pd.DataFrame, data: Data) -> str:
    """Show the seconds of each tool."""
    rows = [
        [
            str(name),
            data["tools"][name]["knob"] or "-",
            f"{row['measure_s']:.2f}",
            f"{row['wall_s']:.1f}",
            f"{row['search_s']:.0f}" if row["search_s"] else "-",
            share(row["reached"], row["runs"]),
        ]
        for name, row in cost.iterrows()
    ]
    return table(["tool", "knob", "measuring s", "with start s", "search s", "reached"], rows)


def default_table(found: pd.DataFrame, data: Data) -> str:
    """Show what each tool does when nobody tells it anything."""
    rows = [
        [
            str(name),
            setting(data["tools"][name]),
            f"{row['measure_s']:.2f}",
            f"{row['wall_s']:.2f}",
            f"±{row['width']:.1%}",
            f"{row['reached']:.0f} of {row['cells']:.0f}",
        ]
        for name, row in found.iterrows()
    ]
    heads = [
        "tool",
        "default",
        "measuring s a cell",
        "with start",
        "of the median",
        "at the target",
    ]
    return table(heads, rows)


def setting(tool: dict[str, Any]) -> str:
    """Name a tool's default."""
    return f"{tool['knob'] or 'cap_s'} {tool['default']:g}"
