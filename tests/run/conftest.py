"""One pool of real workers for all tests of this folder, with faulty backends in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.measure.protocol import WorkerSpec
from harness.run.pool import Pool, make_pool
from tests.support import ROOT

PLANTED = ("segfaults", "exits", "raises", "wrong_mask", "prints_much", "honest")


@pytest.fixture(scope="package")
def pool() -> Iterator[Pool]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT / "tests" / "support"))
        spec = WorkerSpec(device="cpu", extra_backends=tuple(f"planted:{n}" for n in PLANTED))
        made = make_pool("local", spec, replicas=2, timeout_s=20.0)
        made.hello()
        yield made
        made.close()
