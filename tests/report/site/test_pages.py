"""The pages as a reader meets them, in a real browser: figures, filters, addresses, keys."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd
import pytest

from tests.support.browser import Browser

PAGES = {"overview": "Overview", "history": "History", "explorer": "Explorer",
         "conformance": "Behaviour", "runs": "Runs"}  # fmt: skip
SLOWER = "sdpa-flash.fwd-t128-h4-d64-f32-full"  # the cell that got 20 % slower in the 31st run
UNITS = {"µs": 1e-6, "ms": 1e-3, "s": 1.0}
SIDEWAYS = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"


def seconds(text: str) -> float:
    """Read `1.71 [1.34, 1.88] ms`."""
    figure, unit = re.match(r"([\d,.]+).* (\S+)$", text).groups()  # type: ignore[union-attr]
    return float(figure.replace(",", "")) * UNITS[unit]


def newest(history: Path) -> pd.DataFrame:
    """Return the cells of the newest run."""
    return pd.read_parquet(max(history.glob("*/cells.parquet"))).set_index("cell")


def drawn(browser: Browser) -> list[dict[str, Any]]:
    """Return what the chart holds: a name, x and y of each trace that can be walked."""
    script = """
        return document.getElementById("chart").data.filter((trace) => trace.walk)
            .map(({name, x, y}) => ({name, x: [...x], y: [...y]}));"""
    return list(browser.run(script))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_every_page_is_shown_and_fits_the_screen(
    browser: Browser, site: Path, *, width: int, dark: bool
) -> None:
    browser.screen(width, dark=dark)
    for name, title in PAGES.items():
        browser.open(site, f"#/{name}")
        assert browser.text("h1") == title
        assert browser.text("nav [aria-current=page]") == title
        assert browser.run(SIDEWAYS) <= 0, f"{name} is wider than a screen of {width}"
    assert not browser.complaints()
    asked = [url for url in browser.requests() if not url.startswith(("file:", "data:", "about:"))]
    assert not asked


def test_a_page_without_an_address_is_the_overview(browser: Browser, site: Path) -> None:
    browser.open(site)
    assert browser.text("h1") == "Overview"
    assert "57 measured, 1 failed" in browser.text(".lead")
    browser.open(site, "#/nowhere?cell=none")
    assert browser.text("h1") == "Overview"


def test_verdicts_can_be_narrowed_and_opened(browser: Browser, site: Path) -> None:
    browser.open(site, "#/overview")
    every = browser.run("return document.querySelectorAll('.claim').length")
    browser.change("document.getElementById('only-refuted').click()")
    assert browser.run("return document.querySelectorAll('.claim').length") == 1 < every
    assert browser.text(".claim .moved") == "changed"
    browser.run("document.querySelector('.claim summary').click()")
    assert "was " in browser.text(".claim .series")
    browser.change("history.back()")
    assert browser.run("return document.querySelectorAll('.claim').length") == every


def test_a_change_leads_to_the_history_of_its_cell(browser: Browser, site: Path) -> None:
    browser.open(site, "#/overview")
    rows = {(row[1][1:], row[2]): row[3:] for row in browser.table("Changes")[1:]}
    before, after, change = rows["slower", SLOWER]
    assert seconds(after) / seconds(before) == pytest.approx(1.2, abs=0.03)
    assert change.startswith("+")
    link = f"[...document.querySelectorAll('td a')].find((a) => a.textContent === '{SLOWER}')"
    browser.change(f"{link}.click()")
    assert browser.text("h2") == SLOWER


def test_the_history_of_a_cell_holds_its_figures(
    browser: Browser, site: Path, history: Path
) -> None:
    browser.open(site, f"#/history?backend=sdpa-flash&cell={SLOWER}")
    rows = browser.table("Every run")
    assert rows[0] == ["run", "began (UTC)", "figure [95 % interval]"]
    known = newest(history)["time_median_s"][SLOWER]
    assert seconds(rows[1][2]) == pytest.approx(known, rel=0.005)
    assert [row[3] for row in browser.table("Eras")[1:]] == ["25", "15"]
    assert "torch" in browser.table("Eras")[1][0]
    first, second = drawn(browser)
    assert [len(first["y"]), len(second["y"])] == [15, 25]
    assert second["y"][-1] == pytest.approx(known, rel=1e-6)
    assert np.median(second["y"][15:]) / np.median(second["y"][:15]) == pytest.approx(
        1.2, abs=0.03
    )
    words = browser.run(
        "return document.getElementById('chart').layout.annotations.map(a => a.text)"
    )
    assert "slower" in words
    assert any("torch" in word for word in words)


def test_the_history_of_memory_and_of_runs_that_failed(browser: Browser, site: Path) -> None:
    browser.open(site, "#/history?backend=sdpa&cell=sdpa.fwd-t256-h4-d64-f32-full&metric=memory")
    assert [row[1][1:] for row in browser.table("Changes")[1:]] == ["bigger"]
    assert browser.table("Every run")[1][2] == "328 kB"
    browser.choose("metric", "time")
    assert browser.table("Changes") == []
    browser.open(site, "#/history?backend=sdpa-flash&cell=sdpa-flash.fwd-t256-h4-d64-f32-full")
    assert browser.table("Every run")[1][2] == "crashed"
    assert drawn(browser)[-1]["name"] == "not measured"
    assert len(drawn(browser)[-1]["x"]) == 3


def test_the_history_of_a_backend_is_one_line_of_ratios(browser: Browser, site: Path) -> None:
    browser.open(site, "#/history?backend=tiled")
    assert browser.text("h2") == "tiled, 10 cells together"
    ratios = np.concatenate([line["y"] for line in drawn(browser)])
    assert len(ratios) == 40
    assert np.median(ratios) == pytest.approx(1.0, abs=0.01)
    browser.choose("span", "30")
    assert sum(len(line["y"]) for line in drawn(browser)) == 30


def test_the_explorer_shows_the_newest_run(browser: Browser, site: Path, history: Path) -> None:
    browser.open(site, "#/explorer")
    table = newest(history)
    heading, *rows = browser.table("Time of one call")
    assert [row[0] for row in rows][:3] == ["128", "256", "384"]
    for backend in ("naive", "sdpa-math"):
        own = table[table["backend"] == backend].sort_values("length_key")
        shown = [seconds(row[heading.index(backend)]) for row in rows]
        np.testing.assert_allclose(shown, own["time_median_s"].astype(float), rtol=0.005)
        line = next(one for one in drawn(browser) if one["name"] == backend)
        slope, _ = np.polyfit(np.log(line["x"]), np.log(line["y"]), 1)
        (told,) = [row for row in browser.table("Slopes") if row[0] == backend]
        assert float(told[2]) == pytest.approx(slope, abs=0.006)
    assert browser.run("return document.getElementById('chart').layout.yaxis.type") == "log"
    assert "signal 11" in browser.run("return document.querySelector('details').textContent")


def test_the_explorer_can_be_narrowed(browser: Browser, site: Path, history: Path) -> None:
    browser.open(site, "#/explorer")
    browser.choose("from", "512")
    browser.choose("to", "2048")
    browser.choose("metric", "throughput")
    browser.change("document.getElementById('tick-backend-0').click()")
    heading, *rows = browser.table("Throughput")
    assert [row[0] for row in rows] == ["512", "768", "1,024", "1,536", "2,048"]
    assert "naive" not in heading
    cell = newest(history).loc["tiled.fwd-t2048-h4-d64-f32-full"]
    line = next(one for one in drawn(browser) if one["name"] == "tiled")
    assert line["y"][-1] == pytest.approx(cell["flops"] / cell["time_median_s"], rel=1e-6)
    shared = browser.address
    browser.open(site, shared)
    assert browser.table("Throughput") == [heading, *rows]
    for box in range(1, 6):
        browser.change(f"document.getElementById('tick-backend-{box}').click()")
    assert "No measured cell matches" in browser.text("main")
    browser.change("history.back()")
    assert browser.table("Throughput")[0] == ["T", "sdpa-flash"]


def test_an_older_run_can_be_explored(browser: Browser, site: Path, history: Path) -> None:
    first = min(path.parent.name for path in history.glob("*/run.json"))
    browser.open(site, f"#/explorer?run={first}")
    known = pd.read_parquet(history / first / "cells.parquet")["time_median_s"][0]
    assert seconds(browser.table("Time of one call")[1][1]) == pytest.approx(known, rel=0.005)
    assert browser.table("Slopes")[1][3] == "-"


def test_keys_alone_are_enough(browser: Browser, site: Path) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    def press(*keys: str) -> None:
        ActionChains(browser.driver).send_keys(*keys).perform()

    browser.open(site, "#/explorer")
    press(Keys.TAB)
    assert browser.run("return document.activeElement.className") == "skip"
    browser.run("document.getElementById('choose-metric').focus()")
    press(Keys.ARROW_DOWN)
    browser.wait("return location.hash.includes('metric=memory')")
    browser.wait()
    assert browser.run("return document.activeElement.id") == "choose-metric"
    browser.run("document.getElementById('chart').focus()")
    press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert browser.text("#said") == "naive: T=256: 2.10 MB"
    press(Keys.ARROW_DOWN)
    assert browser.text("#said").startswith("rowwise: T=256: ")


def test_the_colours_chosen_last(browser: Browser, site: Path) -> None:
    page = "return getComputedStyle(document.body).backgroundColor"
    browser.open(site, "#/explorer")
    light = browser.run(page)
    browser.change("document.getElementById('theme').click()")
    dark = browser.run(page)
    assert dark != light
    assert browser.run("return document.getElementById('theme').ariaPressed") == "true"
    browser.open(site, "#/runs")
    assert browser.run(page) == dark
    browser.change("document.getElementById('theme').click()")
    assert browser.run(page) == light


def test_a_run_says_where_it_was_measured_and_what_differs(
    browser: Browser, site: Path, history: Path
) -> None:
    names = sorted(path.parent.name for path in history.glob("*/run.json"))
    browser.open(site, "#/runs")
    assert len(browser.table("40 runs")) == 31
    browser.change("[...document.querySelectorAll('.pager a')].at(-1).click()")
    assert [row[0] for row in browser.table("40 runs")[1:]] == names[9::-1]
    browser.open(site, f"#/runs?run={names[15]}")
    assert ["machine.packages.torch", "2.13.0", "2.14.0"] in browser.table("What differs")
    assert ["machine.cpu_model", "Made up"] in browser.table("Environment")
    browser.open(site, f"#/runs?find={quote(names[3])}")
    assert [row[0] for row in browser.table("1 run")[1:]] == [names[3]]
