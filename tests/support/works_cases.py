"""Cases, outputs and verdicts of the works beyond attention, for their tests."""

from __future__ import annotations

from typing import Any

from harness.attention.agreement import Agreement
from harness.attention.backends import BACKENDS
from harness.attention.behaviours import invariants
from harness.attention.works import WORKS
from harness.cases.case import Case


def work_case(work: str, length: int = 24, **fields: Any) -> Case:
    fields = {"mask": "causal", "heads": 4, "dim": 8, "batch": 2} | fields
    return Case.square(length, work=work, **fields)


def judge(name: str, length: int = 24, *, seed: int = 0, **fields: Any) -> Agreement:
    """Run one backend on a case of its work and compare it with the oracle."""
    backend = BACKENDS[name]
    case = work_case(backend.work, length, **fields)
    assert backend.unsupported(case) is None
    work = WORKS[case.work]
    inputs = work.make_inputs(case, seed=seed)
    return work.make_oracle(inputs).check(invariants.run(backend, inputs))
