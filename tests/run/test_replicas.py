"""What the replicas saw of one cell becomes its record."""

from harness.cases.case import Case
from harness.records.record import Observation, Record
from harness.run.replicas import combine


def test_the_first_replica_carries_what_is_held() -> None:
    case = Case.square(64, phase="forward_backward")
    found = {"agrees": True, "peak_bytes": 393_224, "held_bytes": 196_616}
    first = Observation(backend="naive", found=found, samples_s=(1.0, 2.0))
    later = Observation(backend="naive", samples_s=(3.0,))
    record, samples = combine(case, "naive", [first, later], run="r", suite="training")
    assert (record.peak_bytes, record.held_bytes) == (393_224, 196_616)
    assert (record.phase, record.status, samples) == (
        "forward_backward",
        "ok",
        [[1.0, 2.0], [3.0]],
    )
    assert record.flops == 3 * Case.square(64).flops()
    assert Record.from_dict(record.as_dict()) == record


def test_a_forward_holds_nothing_between() -> None:
    seen = Observation(backend="naive", found={"peak_bytes": 10}, samples_s=(1.0,))
    record, _ = combine(Case.square(64), "naive", [seen])
    assert record.held_bytes is None
