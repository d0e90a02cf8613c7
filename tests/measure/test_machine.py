import json
import re
import subprocess
import sys

import pytest

from harness.measure.host_memory import available_memory
from harness.measure.machine import facts, fingerprint
from tests.support.fakes import FakeNvml


@pytest.fixture(autouse=True)
def _all_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def test_facts_are_plain_values() -> None:
    found = facts(threads=3)
    assert json.loads(json.dumps(found)) == found
    assert found["threads"] == 3
    assert found["cores"] >= 1
    assert found["memory_bytes"] > 2**20
    assert found["packages"]["torch"]


def test_threads_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert facts()["threads"] == 5
    monkeypatch.setenv("OMP_NUM_THREADS", "4,2")
    assert facts()["threads"] is None


def test_a_fingerprint_is_short_and_stable() -> None:
    found = facts(threads=1)
    name = fingerprint(found, device="cpu")
    assert re.fullmatch(r"cpu-[a-z0-9-]+-\d+c-torch\d+\.\d+\.\d+\w*-[0-9a-f]{6}", name)
    assert fingerprint(found | {"load_1min": 9.0, "swap_used_bytes": 5}, device="cpu") == name


@pytest.mark.parametrize(
    "change", [{"threads": 2}, {"cores": 99}, {"cpu_model": "other"}, {"packages": {"torch": "9"}}]
)
def test_what_changes_numbers_changes_the_fingerprint(change: dict[str, object]) -> None:
    found = facts(threads=1)
    assert fingerprint(found | change) != fingerprint(found)


def test_a_card_is_part_of_the_fingerprint_where_it_is_used() -> None:
    with_card = facts(threads=1, nvml=FakeNvml(1))
    name = fingerprint(with_card)
    assert name.startswith("gpu-nvidia-h200-1x-torch")
    slower = [with_card["gpus"][0] | {"power_limit_w": 350.0}]
    assert fingerprint(with_card | {"gpus": slower}) != name
    assert fingerprint(with_card, device="cpu") == fingerprint(facts(threads=1), device="cpu")


def test_available_memory_is_below_the_whole() -> None:
    assert 0 < available_memory() <= facts()["memory_bytes"]


def test_no_torch_is_loaded() -> None:
    modules = "harness.measure.machine, harness.cli.machine_checks"
    code = f"import {modules}, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
