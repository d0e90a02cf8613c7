"""A night of the nightly workflow on a made-up machine, and what its history says."""

from pathlib import Path
from typing import Any

from tests.support.workflow_runner import Night

FINDING = {"cell": "sdpa.t1024", "word": "slower", "state": "confirmed", "change": 0.12}


def night(folder: Path, **fakes: str) -> Night:
    known = {
        "inputs.where": "cpu", "inputs.device": "cpu", "inputs.grid": "nightly",
        "inputs.cached": "true", "inputs.strict": "false",
        "github.workspace": str(folder / "work"),
    }  # fmt: skip
    return Night(folder, known, fakes)


def tell(one: Night) -> int:
    """Carry out the second job, which has what the first one left."""
    one.known |= {
        "github.token": "t0ken", "github.repository": "me/attention",
        "needs.measure.outputs.run": one.known["steps.measure.outputs.run"],
    }  # fmt: skip
    return one.run("measure.yml", "tell")


def told(**values: Any) -> dict[str, Any]:
    """Return what `history --json` says: one alarm, and what was not borne out."""
    unsure = {"cell": "naive.t64", "word": "slower", "state": "unconfirmed", "change": 0.3}
    return {"findings": [FINDING | values, unsure]}
