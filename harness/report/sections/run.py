"""The run itself: what is missing, its noise, its settings, how to read it."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from harness.report import figures
from harness.report.figures.canvas import Gallery
from harness.report.sections.cost import join
from harness.report.tables.noise import flag_table, noise_frame, noise_table
from harness.report.tables.outcomes import REASONS_SHOWN, missing_table
from harness.report.view import View
from harness.report.words import units
from harness.report.words.markup import code_block, details, escape, markdown_table

if TYPE_CHECKING:
    import pandas as pd

FIRST = ("run", "started", "ended", "complete", "command", "device", "fingerprint", "baseline")
LEFT_OUT = {"schema", "unavailable", "notes"}
WRITERS: dict[str, Callable[[Any], str]] = {
    "wall_s": units.duration, "timed_s": units.duration,
    "ceilings.copy_bytes_per_s": lambda value: f"{units.size(value)}/s",
}  # fmt: skip
READING = """\
- `T` is the length, `B` the batch, `H` the heads, `D` the features per head. Bytes are decimal:
  1 MB is 10^6 B. `×` is a ratio. `-` was not measured.
- `2.08 [2.05, 2.11]` is an estimate with its 95 % interval. Where a cell ran in several worker
  processes, the interval covers the spread between them.
- The exponent is the slope of log time (less the floor) over log T at the largest T. It holds over
  the lengths measured and says nothing beyond them.
- Times of two devices are never compared. Agreement on one says nothing about speed on another.
- The figures use one colour, marker and line per backend throughout."""


def settings_table(facts: dict[str, Any]) -> pd.DataFrame:
    """Return one row per fact of the run, nested ones by their path: `settings.replicas`."""
    import pandas as pd

    flat = _flatten({name: value for name, value in facts.items() if name not in LEFT_OUT})
    names = [name for name in FIRST if name in flat] + [name for name in flat if name not in FIRST]
    rows = [(name, _text(name, flat[name])) for name in names]
    return pd.DataFrame(rows, columns=["fact", "value"])


def _flatten(facts: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in facts.items():
        path = f"{prefix}{name}"
        flat |= _flatten(value, f"{path}.") if isinstance(value, dict) else {path: value}
    return flat


def _text(name: str, value: Any) -> str:
    if value is None or value == [] or value == "":
        return units.ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name.endswith("_bytes"):
        return units.size(value)
    if name in WRITERS:
        return WRITERS[name](value)
    if name.startswith("ceilings.flops_per_s."):
        return units.rate(value)
    if isinstance(value, list):
        return ", ".join(map(_entry, value))
    return str(value)


def _entry(value: Any) -> str:
    """Write one entry of a list: a card of a machine is a mapping."""
    if isinstance(value, dict):
        return " ".join(f"{name}={text}" for name, text in value.items() if text is not None)
    return str(value)


def missing_section(view: View, gallery: Gallery) -> str:
    """Show what was not measured and why."""
    table = missing_table(view.table, view.mapping("unavailable"))
    if not len(table):
        return "Everything that was asked for was measured."
    rows = markdown_table(table.head(REASONS_SHOWN))
    more = len(table) - REASONS_SHOWN
    rest = f"{more} more reasons are in `cells.csv`." if more > 0 else ""
    return join(
        "Out of memory, unavailable and unsupported are outcomes, not failures.", rows, rest
    )


def noise_section(view: View, gallery: Gallery) -> str:
    """Show how sure the times are."""
    table = noise_table(view.table)
    if not len(table):
        return "Not shown: nothing was timed."
    target = units.number(view.mapping("settings").get("target"))
    figure = figures.noise_figure(noise_frame(view.table), device=view.device, target=target)
    image = gallery.add("noise", figure, "spread between worker processes by backend")
    single = "" if image else "Only one process timed each cell: the spread is not known."
    flags = flag_table(view.table)
    return join(
        "Half-width of the 95 % interval, and spread between the medians of worker processes.",
        single, image, markdown_table(table), markdown_table(flags) if len(flags) else "No flags.",
    )  # fmt: skip


def settings_section(view: View, gallery: Gallery) -> str:
    """Show command, fingerprint, machine and settings."""
    facts = view.run.facts
    notes = facts.get("notes")
    listed = [f"- {escape(note)}" for note in notes] if isinstance(notes, list) else []
    command = facts.get("command")
    return join(
        code_block(command, "sh") if command else "",
        f"Fingerprint: {escape(facts.get('fingerprint'))}", "\n".join(listed),
        details("All facts of the run", markdown_table(settings_table(facts))),
    )  # fmt: skip


def reading_section(view: View, gallery: Gallery) -> str:
    """Say how to read the report and how to build it again."""
    # Whoever copies the command into a shell runs what it says: a name must stay one word.
    command = code_block(f"python -m harness report {shlex.quote(view.run.name)}", "sh")
    rebuild = "The same results give the same bytes. Build this report again with"
    return join(READING, rebuild, command)
