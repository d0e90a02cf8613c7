"""What a run was made with, flat: machine, settings, ceilings, command."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from harness.report import units

if TYPE_CHECKING:
    import pandas as pd

FIRST = ("run", "started", "ended", "complete", "command", "device", "fingerprint", "baseline")
LEFT_OUT = {"schema", "unavailable", "notes"}
WRITERS: dict[str, Callable[[Any], str]] = {
    "wall_s": units.duration, "timed_s": units.duration,
    "ceilings.copy_bytes_per_s": lambda value: f"{units.size(value)}/s",
}  # fmt: skip


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
