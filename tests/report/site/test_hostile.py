"""Whatever stands in a result file is shown as text: never as markup, a script or an address."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest

from harness.cases.case import Case
from harness.records.record import Finding
from harness.records.writer import RunWriter, write_json
from harness.report.site.build import build_site
from tests.support.browser import Browser
from tests.support.made_runs import FACTS, cell

PAYLOAD = "</script><img src=x onerror='window.hacked=1'><script>window.hacked=1</script>"
BACKENDS = (PAYLOAD, "__proto__", "<a href='javascript:window.hacked=1'>sdpa</a>, & co")
ADDRESSES = ("#/overview", "#/history", "#/explorer", "#/explorer?metric=memory", "#/conformance",
             "#/runs")  # fmt: skip
MARKUP = (
    "return document.querySelectorAll('main img, main script, main svg a, a[href^=java]').length"
)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    run = folder / "results" / "run-<b>'\"&"
    run.mkdir(parents=True)
    facts = FACTS | {"grid": {"name": PAYLOAD}, "fingerprint": PAYLOAD, "device": "cpu",
                     "notes": [PAYLOAD], "more": {"__proto__": PAYLOAD}}  # fmt: skip
    writer = RunWriter(run, facts)
    for backend in BACKENDS:
        for length in (64, 128, 256):
            record, samples = cell("naive", "length", Case.square(length), run.name)
            named = replace(record, backend=backend, cell=f"{backend}.t{length}")
            if length == 256:
                named = replace(named, status="crashed", reason=PAYLOAD, time_median_s=None)
            writer.append(named, samples)
        for verdict in ("conforms", "crashes"):
            writer.append_finding(
                Finding(
                    backend=backend,
                    behaviour=f"{verdict} {PAYLOAD}",
                    device="cpu",
                    dtype="float32",
                    expected=PAYLOAD,
                    observed="1",
                    verdict=verdict,
                    reason=PAYLOAD,
                )
            )
    writer.finish(complete=True)
    series = dict.fromkeys(("backend", "device", "dtype", "mask", "phase"), PAYLOAD)
    row = {"claim": PAYLOAD, "series": series, "verdict": PAYLOAD, "reason": PAYLOAD}
    write_json(run / "verdicts.json", [row, row | {"claim": "constructor", "verdict": "valueOf"}])
    return build_site(folder / "results", folder / "site").page.parent


@pytest.mark.parametrize("address", ADDRESSES)
def test_text_stays_text(browser: Browser, hostile: Path, *, address: str) -> None:
    browser.open(hostile, address)
    assert browser.run("return window.hacked ?? null") is None
    assert browser.run(MARKUP) == 0
    assert "cannot be shown" not in browser.text("main")
    assert "window.hacked=1" in browser.run("return document.querySelector('main').textContent")


def test_long_words_fit_a_phone(browser: Browser, hostile: Path) -> None:
    browser.screen(360)
    for address in ADDRESSES:
        browser.open(hostile, address)
        assert browser.run("return document.documentElement.scrollWidth") <= 360, address
    browser.change("document.querySelector('td a, th a').click()")
    assert browser.run("return document.documentElement.scrollWidth") <= 360


def test_names_are_shown_as_they_are(browser: Browser, hostile: Path) -> None:
    browser.open(hostile, "#/explorer")
    legend = browser.run(
        "return [...document.querySelectorAll('.legendtext')].map((text) => text.textContent)"
    )
    assert sorted(legend) == sorted(BACKENDS)
    assert set(BACKENDS) <= {row[0] for row in browser.table("Slopes")}


def test_an_answer_can_be_opened_and_sought(browser: Browser, hostile: Path) -> None:
    browser.open(hostile, "#/conformance")
    assert len(browser.table("2 behaviours of 3 backends")) == 3
    browser.choose("only", "crashes")
    assert len(browser.table("1 behaviour of 3 backends")) == 2
    browser.change("document.querySelector('a.answer').click()")
    assert PAYLOAD in browser.text(".opened dd")
    assert browser.run(MARKUP) == 0
    browser.change("document.getElementById('close').click()")
    assert browser.text(".opened") == ""
    browser.run("document.getElementById('find-find').focus()")
    field = "const find = document.activeElement; find.value = 'no such';"
    browser.change(f"{field} find.dispatchEvent(new Event('input', {{bubbles: true}}))")
    assert "No behaviour matches" in browser.text("main")
    assert browser.run("return document.activeElement.id") == "find-find"


def test_names_that_every_object_has_are_names(browser: Browser, hostile: Path) -> None:
    browser.open(hostile, "#/overview")
    claims = browser.run("return document.querySelector('.claims').textContent")
    assert "constructor" in claims
    assert "native code" not in claims
    browser.open(hostile, f"#/runs?run={quote('run-<b>')}%27%22%26")
    assert ["more.__proto__", PAYLOAD] in browser.table("Environment")


def test_an_address_is_text_too(browser: Browser, hostile: Path) -> None:
    browser.open(hostile, f"#/history?backend={PAYLOAD}&cell={PAYLOAD}&metric=__proto__&page=-7")
    assert browser.text("h1") == "History"
    assert browser.run("return window.hacked ?? null") is None
    browser.open(hostile, "#/explorer?metric=constructor&from=x&run=__proto__")
    assert browser.text("h1") == "Explorer"
