"""How long a page takes to be shown, in processor time: a busy machine's clock tells little."""

from __future__ import annotations

import resource
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.report.site.build import build_site
from tests.support.browser import find_chromium, start
from tests.support.histories import write_history
from tests.support.night_draws import Plant

LIMIT = 3.0  # seconds, for 1,000 runs of 500 cells
FIRST_VIEWS = ("#/overview", "#/history", "#/explorer")


def first_views(site: Path) -> dict[str, float]:
    """Return the processor seconds of each view, each in a browser that was started for it."""
    return {address: opened(site, address) for address in FIRST_VIEWS}


def opened(site: Path, address: str) -> float:
    with contextmanager(start)() as browser:
        browser.open(site, address)
        shown = browser.run("return performance.getEntriesByName('shown')[0].startTime")
        taken = browser.processor_seconds()
        print(f"{address}: {taken:.2f} s of processor time, {shown / 1e3:.2f} s by the clock")
    return taken


def test_a_small_history_is_shown_at_once(site: Path) -> None:
    find_chromium()
    taken = first_views(site)
    assert max(taken.values()) < LIMIT, taken


@pytest.mark.slow
def test_a_thousand_runs_of_five_hundred_cells(tmp_path: Path) -> None:
    find_chromium()
    plants = [Plant("era", 400), Plant("slower", 900, cell=5, size=0.12)]
    write_history(tmp_path / "results", nights=1000, cells=500, plants=plants, seed=1, fast=True)
    begun = time.process_time()
    built = build_site(tmp_path / "results", tmp_path / "site")
    assert time.process_time() - begun < 60.0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2_000_000  # kB on Linux
    assert (built.runs, built.cells) == (1000, 500)
    taken = first_views(built.page.parent)
    assert max(taken.values()) < LIMIT, taken
