"""Progress: a bar with the time left on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from typing import IO

from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as RichProgress

LINE_EVERY_S = 15.0
WIDTH = 100


class Progress:
    """Show how far a run is and how long it will take.

    `weights` are the expected seconds of each cell, in any unit: one long cell outweighs fifty
    short ones, so the time left follows the weight done, not the count.
    """

    def __init__(self, file: IO[str]) -> None:
        self.console = Console(file=file, width=WIDTH, highlight=False, soft_wrap=False)
        self.weights: dict[str, float] = {}
        self.done: dict[str, float] = {}
        self.bar: RichProgress | None = None

    def say(self, text: str) -> None:
        """Print one line above the bar."""
        self.console.print(text, markup=False)

    def start(self, weights: dict[str, float]) -> None:
        """Show the bar; the estimate starts here."""
        self.weights = weights
        self.began = self.told = time.monotonic()
        if self.console.is_terminal:
            text = TextColumn("{task.description}", markup=False)
            self.bar = RichProgress(BarColumn(bar_width=24), text, console=self.console)
            self.task = self.bar.add_task("", total=sum(weights.values()))
            self.bar.start()

    def advance(self, cell: str) -> None:
        """Say that a cell has its record."""
        self.done[cell] = self.weights.get(cell, 0.0)
        if self.bar is not None:
            self.bar.update(
                self.task, completed=sum(self.done.values()), description=self.text(cell)
            )
        elif time.monotonic() - self.told > LINE_EVERY_S:
            self.told = time.monotonic()
            self.say(self.text(cell))

    def text(self, cell: str) -> str:
        """Return e.g. `120 of 204 cells, 1:05 left, naive.fwd-t512-h4-d64-f32-full`."""
        count = f"{len(self.done)} of {len(self.weights)} cells"
        return f"{count}, {clock_face(self.seconds_left())} left, {cell}"[: WIDTH - 28]

    def seconds_left(self) -> float:
        """Estimate the seconds left from the weight that is done."""
        done, total = sum(self.done.values()), sum(self.weights.values())
        elapsed = time.monotonic() - self.began
        return elapsed * (total - done) / done if done else total

    def stop(self) -> None:
        """Take the bar away."""
        if self.bar is not None:
            self.bar.stop()
            self.bar = None


def clock_face(seconds: float) -> str:
    """Write seconds as minutes and seconds, e.g. 1:05."""
    whole = max(0, round(seconds))
    return f"{whole // 60}:{whole % 60:02d}"
