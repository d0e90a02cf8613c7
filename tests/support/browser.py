"""Browser: a real headless Chromium: what it shows, complains of and asks for."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 60.0  # seconds: a machine that runs other tests beside this one is slow, not broken


def find_chromium() -> tuple[str, str]:
    """Return the programs of the browser and of its driver; skip the test if there are none."""
    pytest.importorskip("selenium", reason="no selenium: pip install -e '.[test]'")
    found = [path for name in CHROMIUMS if (path := shutil.which(name))]
    driver = shutil.which("chromedriver")
    if not found or not driver:
        pytest.skip("no Chromium with its driver: apt-get install chromium chromium-driver")
    return found[0], driver


@dataclass
class Browser:
    """Drive one browser: open a page of a site, read it, press its keys."""

    driver: Any
    site: Path | None = None

    def screen(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        """Take the size of a screen and the colours that its system prefers."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        wish = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [wish]})

    def open(self, site: Path, address: str = "") -> None:
        """Open a page anew, from the disk, and wait until it is shown."""
        self.site = site
        self.driver.get("about:blank")
        self.driver.get(f"{(site / 'index.html').as_uri()}{address}")
        self.wait()

    def wait(self, ready: str = "return document.documentElement.dataset.ready") -> None:
        """Wait until something holds in the page."""
        until = time.monotonic() + PATIENCE
        while not self.run(ready):
            assert time.monotonic() < until, f"never came: {ready}\n{self.text('main')}"
            time.sleep(0.03)

    def run(self, script: str, *values: Any) -> Any:
        """Run a script in the page and return what it returns."""
        return self.driver.execute_script(script, *values)

    def change(self, action: str, *values: Any) -> None:
        """Do something that draws the page anew, and wait for that."""
        self.run("document.documentElement.removeAttribute('data-ready');" + action, *values)
        self.wait()

    def choose(self, name: str, value: str) -> None:
        """Choose from a list, as a reader does."""
        script = """
            const list = document.getElementById(`choose-${arguments[0]}`);
            list.focus(); list.value = arguments[1];
            if (list.value !== arguments[1]) throw new Error(`no ${arguments[1]} in the list`);
            list.dispatchEvent(new Event("change", {bubbles: true}));"""
        self.change(script, name, value)

    def text(self, selector: str) -> str:
        """Return the text that an element shows."""
        return str(
            self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector)
        )

    def table(self, caption: str) -> list[list[str]]:
        """Return the rows of the table whose caption begins so, its heading first."""
        script = """
            const table = [...document.querySelectorAll("table")]
                .find((one) => one.caption.textContent.startsWith(arguments[0]));
            const words = (row) => [...row.cells].map((cell) => cell.textContent);
            return [...(table?.rows ?? [])].map(words);"""
        return [list(map(str, row)) for row in self.run(script, caption)]

    @property
    def address(self) -> str:
        """The part of the address after the page: its state."""
        return str(self.run("return location.hash"))

    def complaints(self) -> list[str]:
        """Return what the console has been told since the last time."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """Return every address that was asked for since the last time."""
        events = [json.loads(entry["message"])["message"] for entry in
                  self.driver.get_log("performance")]  # fmt: skip
        asked = [event for event in events if event["method"] == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in asked]

    def processor_seconds(self) -> float:
        """Return the processor time that the page's process has taken since it was opened."""
        metrics = self.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        return float({one["name"]: one["value"] for one in metrics}["ProcessTime"])


def start() -> Iterator[Browser]:
    """Start a browser and end it."""
    chromium, program = find_chromium()
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    # A container has no sandbox of its own to give and little shared memory.
    for word in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "disable-gpu"):
        options.add_argument(f"--{word}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(program))
    driver.execute_cdp_cmd("Performance.enable", {})
    try:
        yield Browser(driver)
    finally:
        driver.quit()
