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

    A step is one visit of one pass. Steps have weights, their expected seconds in any unit: one
    long visit outweighs fifty short ones, so the time left follows the weight, not the count.
    """

    def __init__(self, file: IO[str]) -> None:
        self.console = Console(file=file, width=WIDTH, highlight=False, soft_wrap=False)
        self.weights: list[float] = []
        self.count = 0
        self.bar: RichProgress | None = None

    def say(self, text: str) -> None:
        """Print one line above the bar."""
        self.console.print(text, markup=False)

    def start(self, weights: list[float]) -> None:
        """Show the bar; the estimate starts here. Steps come in the order of their weights."""
        self.weights = weights
        self.began = self.last_line = time.monotonic()
        if self.console.is_terminal:
            text = TextColumn("{task.description}", markup=False)
            self.bar = RichProgress(BarColumn(bar_width=24), text, console=self.console)
            self.task = self.bar.add_task(self.text("starting"), total=sum(weights))
            self.bar.start()

    def advance(self, step: str) -> None:
        """Say that a step has ended."""
        self.count += 1
        if self.bar is not None:
            done = sum(self.weights[: self.count])
            self.bar.update(self.task, completed=done, description=self.text(step))
        elif time.monotonic() - self.last_line > LINE_EVERY_S:
            self.last_line = time.monotonic()
            self.say(self.text(step))

    def text(self, step: str) -> str:
        """Return e.g. `60 of 105 visits, 1:05 left, length fwd-t512-h4-d64-f32-full`."""
        count = f"{self.count} of {len(self.weights)} visits"
        return f"{count}, {clock_face(self.seconds_left())} left, {step}"[: WIDTH - 28]

    def seconds_left(self) -> float:
        """Estimate the seconds left from the weight that is done."""
        done, total = sum(self.weights[: self.count]), sum(self.weights)
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
