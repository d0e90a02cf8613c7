"""Everyone can read the pages: contrast in both colours, labels, tables, a layout that stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.browser import Browser

CELL = "sdpa-flash.fwd-t256-h4-d64-f32-full"
VIEWS = ("#/overview", f"#/history?cell={CELL}&backend=sdpa-flash", "#/explorer", "#/runs")
LEAST_CONTRAST = 4.5  # of text against its ground: WCAG 2.2, 1.4.3
MOST_SHIFT = 0.1  # what counts as a quiet page: web.dev, cumulative layout shift

CONTRAST = """
    const channel = (part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    const light = (colour) => colour.match(/[\\d.]+/g).slice(0, 3)
        .map((part) => channel(part / 255))
        .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
    const ground = (element) => {
        for (let one = element; one; one = one.parentElement) {
            const colour = getComputedStyle(one).backgroundColor;
            if (!/, 0\\)$|transparent/.test(colour)) return colour;
        }
    };
    const own = (element) => [...element.childNodes].some((node) =>
        node.nodeType === 3 && node.data.trim());
    return [...document.querySelectorAll("header *, main *:not(svg *)")].filter(own)
        .filter((element) => element.checkVisibility()).map((element) => {
            const pair = [light(getComputedStyle(element).color), light(ground(element))];
            const ratio = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
            return [ratio, element.className + ": " + element.textContent.slice(0, 30)];
        }).filter(([ratio]) => ratio < arguments[0]);"""

NAMELESS = """
    return [...document.querySelectorAll("main input, main select, button, a, [role=region]")]
        .filter((one) => !(one.labels?.length || one.ariaLabel || one.textContent.trim()))
        .map((one) => one.outerHTML);"""

REPEATED = """
    const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
    return ids.filter((id, at) => ids.indexOf(id) !== at && !document.querySelector("svg #" +
        CSS.escape(id)));"""

TABLES = """
    return [...document.querySelectorAll("main table")].filter((table) =>
        !table.caption?.textContent
        || ![...table.tHead.rows[0].cells].every((cell) => cell.scope === "col")
        || ![...table.tBodies[0].rows].every((row) => row.cells[0].scope === "row")).length;"""

SHIFTS = """
    window.shift = 0;
    new PerformanceObserver((list) => list.getEntries().forEach((one) => {
        window.shift += one.value;
    })).observe({type: "layout-shift", buffered: true});"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_word_stands_out_from_its_ground(
    browser: Browser, site: Path, *, dark: bool
) -> None:
    browser.screen(1280, dark=dark)
    for view in VIEWS:
        browser.open(site, view)
        pressed = browser.run("return document.getElementById('theme').ariaPressed")
        assert pressed == str(dark).lower()
        assert browser.run(CONTRAST, LEAST_CONTRAST) == [], view


@pytest.mark.parametrize("view", VIEWS)
def test_a_page_can_be_listened_to(browser: Browser, site: Path, *, view: str) -> None:
    browser.open(site, view)
    assert browser.run("return document.documentElement.lang") == "en"
    assert browser.run("return document.querySelectorAll('h1').length") == 1
    assert browser.run(NAMELESS) == []
    assert browser.run(REPEATED) == []
    assert browser.run(TABLES) == 0
    assert browser.run("return document.querySelectorAll('main table').length") > 0


def test_a_chart_takes_its_place_before_it_is_drawn(browser: Browser, site: Path) -> None:
    for view in VIEWS[1:3]:
        browser.open(site, view)
        browser.run(SHIFTS)
        browser.wait("return document.querySelectorAll('#chart .main-svg').length > 0")
        assert browser.run("return window.shift") < MOST_SHIFT, view


def test_lines_can_be_told_from_a_dark_page(browser: Browser, site: Path) -> None:
    browser.screen(1280, dark=True)
    browser.open(site, "#/explorer")
    script = """
        return document.getElementById("chart").data.map(({name, line}) => [name, line.color]);"""
    colours = dict(browser.run(script))
    assert colours["naive"] == "#ffffff"  # black on a white page
    assert colours["sdpa-math"] == "#56b4e9"  # light enough as it is
    assert len(set(colours.values())) == len(colours)
