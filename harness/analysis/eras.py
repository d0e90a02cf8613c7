"""Eras: stretches of runs on one and the same machine, and what changed between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from harness.archive import Past


@dataclass(frozen=True)
class Era:
    """Hold runs in a row of one fingerprint, and what differs from the era before."""

    fingerprint: str
    first: str
    last: str
    started: str
    ended: str
    runs: int
    changed: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """What began it, in words."""
        return ", ".join(self.changed) or "something of the machine that run.json does not name"


def eras_of(runs: Sequence[Past]) -> list[Era]:
    """Part runs (oldest first) into eras; other devices and grids are not to be among them."""
    eras: list[Era] = []
    before: Past | None = None
    for fingerprint, part in groupby(runs, key=lambda run: run.facts.get("fingerprint")):
        own = list(part)
        changed = tuple(differences(before.facts, own[0].facts)) if before else ()
        names, times = (own[0].name, own[-1].name), (own[0].started, own[-1].started)
        eras.append(Era(str(fingerprint), *names, *times, len(own), changed))
        before = own[-1]
    return eras


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Say what differs of what a fingerprint is made of, e.g. `torch 2.13.0 to 2.14.0`."""
    old, new = (identity(part(facts, "machine")) for facts in (before, now))
    return [
        f"{name} {old.get(name) or 'none'} to {new.get(name) or 'none'}"
        for name in dict.fromkeys([*old, *new])
        if old.get(name) != new.get(name)
    ]


def package_changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Say which packages differ, also those that no fingerprint holds."""
    old, new = (part(part(facts, "machine"), "packages") for facts in (before, now))
    return [
        f"{name} {old.get(name, 'none')} to {new.get(name, 'none')}"
        for name in dict.fromkeys([*old, *new])
        if old.get(name) != new.get(name)
    ]


def identity(machine: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a fingerprint is made of, by the names that people use."""
    gpus = machine.get("gpus")
    cards = [card for card in gpus if isinstance(card, dict)] if isinstance(gpus, list) else []
    known = {
        "processor": machine.get("cpu_model"),
        "cores": machine.get("cores"),
        "threads": machine.get("threads"),
        "torch": part(machine, "packages").get("torch"),
        "GPUs": len(cards),
    }
    for place, card in enumerate(cards):
        label = f" of GPU {place}" if len(cards) > 1 else ""
        known |= {
            f"GPU{label}": card.get("name"),
            f"driver{label}": card.get("driver"),
            f"power limit (W){label}": card.get("power_limit_w"),
        }
    return known


def part(facts: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a part of a run's facts, empty where a run of another version lacks it."""
    found = facts.get(name)
    return found if isinstance(found, Mapping) else {}
