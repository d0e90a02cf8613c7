"""Real worker processes with planted faults: each costs its own cell and nothing else."""

import psutil
import pytest

from harness.cases.case import Case
from harness.measure.protocol import Visit, WorkerSpec
from harness.records.record import Observation, Status
from harness.run.pool import Pool, make_pool

CASE = Case.square(32, heads=2, dim=8, mask="causal")


def measure(pool: Pool, *backends: str, case: Case = CASE) -> dict[str, list[Observation]]:
    """Visit in both replicas, as a session does: a backend that failed is not asked again."""
    seen: dict[str, list[Observation]] = {name: [] for name in backends}
    for replica in (0, 1):
        todo = [name for name in backends if all(o.status is Status.OK for o in seen[name])]
        order = Visit(
            case=case, backends=tuple(todo), replica=replica, seed=0, target=0.5, cap_s=0.01
        )
        for name, one in pool.visit(order).items():
            seen[name].append(one)
    return seen


def test_a_fault_costs_its_own_backend_and_nothing_else(pool: Pool) -> None:
    """One that dies and one that raises; all the others are in test_faults.py, in a whole run."""
    seen = measure(pool, "naive", "segfaults", "raises", "honest", "prints-much")
    last = {name: observations[-1] for name, observations in seen.items()}
    assert {name: (one.status, one.reason) for name, one in last.items()} == {
        "naive": (Status.OK, None),
        "segfaults": (Status.CRASHED, "the worker was killed by SIGSEGV"),
        "raises": (Status.ERROR, "RuntimeError: the kernel is not built for this shape"),
        "honest": (Status.OK, None),
        "prints-much": (Status.OK, None),
    }
    for name in ("naive", "honest", "prints-much"):
        assert len(seen[name]) == 2, name
        assert all(one.samples_s for one in seen[name]), name
    for name in ("segfaults", "raises"):
        assert len(seen[name]) == 1, f"{name} failed once and must not be asked again"
        assert not seen[name][0].samples_s, name


def test_the_pool_goes_on_after_faults(pool: Pool) -> None:
    seen = measure(pool, "naive", "sdpa")
    assert {name: [one.status for one in many] for name, many in seen.items()} == {
        "naive": [Status.OK] * 2,
        "sdpa": [Status.OK] * 2,
    }


def test_agreement_and_memory_are_of_the_first_replica(pool: Pool) -> None:
    first, second = measure(pool, "naive", case=Case.square(64))["naive"]
    assert first.agrees is True
    assert first.peak_bytes == 2 * Case.square(64).score_bytes()
    assert second.agrees is None
    assert second.peak_bytes is None


def test_a_case_that_cannot_fit_is_refused_by_estimate(pool: Pool) -> None:
    seen = measure(pool, "naive", case=Case.square(4_000_000, heads=1, dim=8))
    (one,) = seen["naive"]
    assert one.status is Status.OUT_OF_MEMORY
    assert "wants 128,128,000,000,000 bytes" in str(one.reason) or "bytes" in str(one.reason)


def test_nothing_is_left_behind() -> None:
    before = set(psutil.Process().children(recursive=True))
    made = make_pool("local", WorkerSpec(device="cpu"), replicas=2, timeout_s=10.0)
    made.hello()
    started = set(psutil.Process().children(recursive=True)) - before
    assert len(started) == 2
    made.close()
    _, alive = psutil.wait_procs(started, timeout=5)
    assert not alive


def test_an_unknown_pool_lists_the_valid_ones() -> None:
    with pytest.raises(ValueError, match="unknown pool 'rya'; valid: local, inline"):
        make_pool("rya", WorkerSpec(device="cpu"), replicas=1, timeout_s=1.0)
