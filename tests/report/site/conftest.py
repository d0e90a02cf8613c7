"""One browser for all tests of the pages, and one made-up history with everything planted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.report.site.build import build_site
from tests.support.browser import Browser, start
from tests.support.histories import write_history
from tests.support.night_draws import Plant

NIGHTS, CELLS = 40, 60
PLANTS = (
    Plant("era", 15),
    Plant("slower", 30, cell=5, size=0.20),
    Plant("bigger", 34, cell=9, size=0.25),
    Plant("broken", 37, cell=11),
    Plant("unsupported", 38, cell=15),
    Plant("gone", 39, cell=14),
    Plant("verdict", 39),
)


@pytest.fixture(scope="session")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("history")
    write_history(folder, nights=NIGHTS, cells=CELLS, plants=PLANTS, seed=4)
    return folder


@pytest.fixture(scope="session")
def site(history: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_site(history, tmp_path_factory.mktemp("site")).page.parent


@pytest.fixture(scope="session")
def shared_browser() -> Iterator[Browser]:
    yield from start()


@pytest.fixture
def browser(shared_browser: Browser) -> Iterator[Browser]:
    """The browser on a wide light screen; a test fails if the console was told anything."""
    shared_browser.screen(1280)
    shared_browser.complaints()
    shared_browser.requests()
    yield shared_browser
    complaints = shared_browser.complaints()
    # Colours that one test chose are not the next one's; a blank page has no storage to clear.
    shared_browser.run("try { localStorage.clear() } catch { }")
    assert not complaints
