"""Facts: what run.json says of a run before its first cell."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Any

from harness.measure.machine import facts, fingerprint, own_bytes
from harness.remote.messages import redact
from harness.resume import grid_digest
from harness.settings import Settings


def run_facts(settings: Settings, *, cells: int) -> dict[str, Any]:
    """Return the facts that hold for the whole run."""
    machine = facts(threads=settings.threads)
    return {
        "started": now(),
        "ended": None,
        "complete": False,
        "command": redact(" ".join(["pytest", *sys.argv[1:]])),
        "grid": settings.grid.model_dump(include={"name", "description", "longest"}),
        "grid_digest": grid_digest(settings.grid),
        "device": settings.device,
        "machine": machine,
        "fingerprint": fingerprint(machine, device=settings.device),
        "settings": settings.facts(),
        "backends": list(settings.backends),
        "baseline": settings.baseline,
        "cells": cells,
    }


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def peak_rss() -> int | None:
    """Return the most memory that this process has held, in bytes; None where nobody tells.

    Linux hands `ru_maxrss` down to children: a process started by a big one would seem big.
    """
    return own_bytes("VmHWM")
