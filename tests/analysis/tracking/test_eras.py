"""Eras: another machine is another stretch, and it is said what changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.analysis.tracking.changes import eras_of, fingerprint_differences, package_changes
from harness.records.archive import ArchivedRun


def past(name: str, fingerprint: str, **machine: Any) -> ArchivedRun:
    known = {"cpu_model": "A", "cores": 2, "threads": 1, "packages": {"torch": "2.13.0"}} | machine
    return ArchivedRun(Path(name), {"fingerprint": fingerprint, "machine": known, "started": name})


def card(**fields: Any) -> list[dict[str, Any]]:
    return [{"name": "H200", "driver": "570.1", "power_limit_w": 700} | fields]


def test_the_runs_of_one_machine_are_an_era() -> None:
    runs = [past("1", "a"), past("2", "a"), past("3", "b", packages={"torch": "2.14.0"})]
    first, second = eras_of(runs)
    assert (first.runs, first.first, first.last, first.changed) == (2, "1", "2", ())
    assert second.changed == ("torch 2.13.0 to 2.14.0",)
    assert second.reason == "torch 2.13.0 to 2.14.0"
    assert eras_of([]) == []


def test_two_machines_by_turns_are_two_eras_and_the_newest_run_is_in_the_last() -> None:
    turns = [
        past(str(at), name, cores=cores)
        for at, (name, cores) in enumerate([("a", 2), ("b", 4)] * 3)
    ]
    one, two = eras_of(turns)
    assert (one.fingerprint, one.runs, one.last) == ("a", 3, "4")
    assert (two.fingerprint, two.runs, two.last) == ("b", 3, "5")
    assert two.changed == ("cores 2 to 4",)
    one, two = eras_of(turns[:5])
    assert (two.fingerprint, two.runs, two.changed) == ("a", 3, ("cores 4 to 2",))


def test_every_part_of_a_fingerprint_is_named() -> None:
    old = past("1", "a", gpus=card()).facts
    for fields, said in (
        ({"driver": "580.2"}, "driver 570.1 to 580.2"),
        ({"power_limit_w": 500}, "power limit (W) 700 to 500"),
        ({"name": "B200"}, "GPU H200 to B200"),
    ):
        assert fingerprint_differences(old, past("2", "b", gpus=card(**fields)).facts) == [said]
    other = past("2", "b", gpus=card(), cores=4, threads=3, cpu_model="B").facts
    assert fingerprint_differences(old, other) == [
        "processor A to B",
        "cores 2 to 4",
        "threads 1 to 3",
    ]
    assert "GPUs 1 to none" in fingerprint_differences(old, past("2", "b").facts)


def test_what_is_not_known_is_no_crash() -> None:
    assert fingerprint_differences({}, {}) == []
    assert eras_of([past("1", "a"), ArchivedRun(Path("2"), {"fingerprint": "b"})])[1].changed


def test_packages_outside_the_fingerprint_are_told_too() -> None:
    old, new = (
        past(name, "a", packages={"torch": "2.13.0", "xformers": version}).facts
        for name, version in (("1", "0.0.35"), ("2", "0.0.36"))
    )
    assert package_changes(old, new) == ["xformers 0.0.35 to 0.0.36"]
    assert package_changes(old, old) == []


def test_facts_of_another_shape_are_no_crash() -> None:
    odd = {"machine": {"gpus": "none", "packages": ["torch"]}, "grid": "nightly"}
    assert fingerprint_differences(odd, {"machine": "a laptop"}) == []
    assert package_changes(odd, odd) == []
    assert ArchivedRun(Path("1"), odd).kind == (None, None, None)
