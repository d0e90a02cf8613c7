import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.cli import machine_checks
from harness.cli.machine_checks import Check, checks
from harness.measure.machine import facts
from tests.support.fakes import FakeNvml


@pytest.fixture(autouse=True)
def _all_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def by_name(found: list[Check]) -> dict[str, Check]:
    return {check.name: check for check in found}


def known(**changes: Any) -> Mapping[str, Any]:
    return facts() | changes


def test_every_check_speaks(tmp_path: Path) -> None:
    found = checks(tmp_path / "new" / "results", interval_s=0.05)
    names = by_name(found)
    assert len(names) == len(found) >= 13
    assert {"load", "steal", "threads", "memory", "disk", "torch", "gpu"} <= set(names)
    assert all(check.observed for check in found)
    assert all(bool(check.advice) == (check.level != "ok") for check in found)
    assert not (tmp_path / "new").exists()


def test_neighbours_are_named_by_what_they_use() -> None:
    check = machine_checks.load({"compiler (7)": 0.9, "idle (8)": 0.001, "player (9)": 0.3})
    assert check.level == "warn"
    assert check.observed == "others use 1.20 cores: compiler (7) 0.90, player (9) 0.30"
    assert machine_checks.load({"idle (8)": 0.001}).level == "ok"


def test_steal_above_a_twentieth_of_a_core_warns() -> None:
    assert [machine_checks.steal(cores).level for cores in (0.0, 0.04, 0.2)] == [
        "ok",
        "ok",
        "warn",
    ]


@pytest.mark.parametrize(
    ("check", "changes", "level"),
    [
        (machine_checks.threads, {"cores": 4, "threads": 4}, "warn"),
        (machine_checks.threads, {"cores": 4, "threads": 3}, "ok"),
        (machine_checks.threads, {"cores": 1, "threads": 1}, "ok"),
        (machine_checks.frequency, {"governor": "powersave"}, "warn"),
        (machine_checks.frequency, {"governor": "performance"}, "ok"),
        (machine_checks.frequency, {"governor": None}, "ok"),
        (machine_checks.swap, {"swap_used_bytes": 2**30}, "warn"),
        (machine_checks.swap, {"swap_used_bytes": 0}, "ok"),
        (machine_checks.torch, {"packages": {}}, "fail"),
        (machine_checks.torch, {"packages": {"torch": "2.9.1"}}, "fail"),
        (machine_checks.torch, {"packages": {"torch": "2.11.0a0+git"}}, "ok"),
    ],
)
def test_levels(check: Any, changes: dict[str, Any], level: str) -> None:
    assert check(known(**changes)).level == level


def test_little_memory_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_checks, "available_memory", lambda: 2**30)
    assert machine_checks.memory(known()).level == "warn"


def test_a_missing_compiler_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    assert machine_checks.compiler(known()).level == "warn"


def test_a_preloaded_allocator_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "libjemalloc.so")
    assert "libjemalloc.so" in machine_checks.allocator(known()).advice


def test_results_below_a_file_fail(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    assert machine_checks.disk(file / "results").level == "fail"
    assert machine_checks.disk(tmp_path).level == "ok"


def test_cards_are_checked_one_by_one(tmp_path: Path) -> None:
    nvml = FakeNvml(2, temperature=80)
    nvml.pids = [os.getpid(), 4242]
    names = by_name(checks(tmp_path, interval_s=0.0, nvml=nvml))
    assert names["gpu 0"].observed == "NVIDIA H200, driver 570.1, limit 700.0 W"
    assert names["gpu 1 state"].level == "warn"
    assert names["gpu 1 company"].observed == "processes 4242"
    calm = by_name(checks(tmp_path, interval_s=0.0, nvml=FakeNvml(1)))
    assert {calm[name].level for name in ("gpu 0", "gpu 0 state", "gpu 0 company")} == {"ok"}


def test_a_cuda_build_without_a_card_warns() -> None:
    from harness.cli.machine_checks import gpu_checks

    assert gpu_checks({"packages": {"torch": "2.13.0+cu130"}}, None)[0].level == "warn"
    assert gpu_checks({"packages": {"torch": "2.13.0+cpu"}}, None)[0].level == "ok"
