"""Print what `harness history --json` found, one cell a line and sorted: the same every night."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

# What `history` takes as it is; times count once a second look has borne them out.
CONFIRMED = "confirmed"
EXACT = ("broken", "gone", "bigger")


def findings(told: dict[str, Any]) -> list[str]:
    """Return "cell word" for each alarm: no figures, since they differ every night."""
    alarms = [one for one in told["findings"] if one["word"] in EXACT or one["state"] == CONFIRMED]
    return sorted({f"{one['cell']} {one['word']}" for one in alarms})


if __name__ == "__main__":
    print("\n".join(findings(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))))
