"""Plan: which tool runs when: tuning, defaults, then rounds in which all tools take turns.

Long reference runs lie between the tools' runs, so that a machine that drifts drifts for all.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from benchmarks.outcome import Outcome
from benchmarks.runner import Place, Settings, run_child
from benchmarks.tools import Tool
from benchmarks.truth import LONG

# Seconds a cell in each process of a reference; ten processes of two take 90 s, starts included.
REFERENCE_S = 0.1
# A tool that does not settle may not eat the time of the others.
LARGEST_SHARE = 0.1
# What of the budget the rounds may take; the rest is for the default of a tool that starts slowly.
ROUNDS_SHARE = 0.9
APART = 5


@dataclass(kw_only=True)
class Plan:
    """Run the tools in turn and keep one row for each run: tool, stage, round, wall, outcomes."""

    place: Place
    tools: list[Tool]
    cells: list[str]
    target: float
    budget_s: float
    slow_cells: int
    tell: Callable[[str], None]
    seed: int = 0
    rows: list[dict[str, Any]] = field(default_factory=list)
    settings: dict[str, dict[str, float]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)

    def measure(self, repeats: int) -> None:
        """Find each tool's setting, run the defaults, and repeat until the budget is spent."""
        for place, tool in enumerate(self.tools):
            self.tune(tool)
            self.refer_if(place % 3 == 0)
        slow = [tool for tool in self.tools if tool.a_round]
        self.defaults([tool for tool in self.tools if not tool.a_round])
        turn = random.Random(self.seed)
        for number in range(repeats):
            self.round(number, turn)
        self.defaults(slow)

    def spent(self) -> float:
        """Return the seconds since the start."""
        return time.monotonic() - self.began

    def tune(self, tool: Tool) -> None:
        """Double the knob of every cell that misses the target; a tool without one is left be."""
        cells = self.cells_of(tool)
        settings = self.settings[tool.name] = dict.fromkeys(cells, tool.first)
        todo = list(cells) if tool.knob else []
        begin = time.monotonic()
        while todo:
            found = self.run(tool, {name: settings[name] for name in todo}, stage="tune")
            todo = [one["cell"] for one in found if not one["reached"]]
            todo = [name for name in todo if settings[name] * 2 <= tool.most]
            if time.monotonic() - begin > LARGEST_SHARE * self.budget_s:
                break
            settings |= {name: settings[name] * 2 for name in todo}

    def cells_of(self, tool: Tool) -> list[str]:
        """List a tool's cells: all, or of one that starts processes for each cell a mixed few."""
        return mixed(self.cells)[: self.slow_cells] if tool.a_round else list(self.cells)

    def defaults(self, tools: list[Tool]) -> None:
        """Run tools as they come; one that starts processes for each cell on a single one."""
        for tool in tools:
            if tool.default and self.spent() < self.budget_s:
                cells = self.cells_of(tool)[: 1 if tool.a_round else None]
                self.run(tool, dict.fromkeys(cells, tool.default), stage="default")

    def round(self, number: int, turn: random.Random) -> None:
        """Let every tool measure once, in a fresh order; the first round takes place anyway."""
        tools = [tool for tool in self.tools if number % tool.every == 0]
        turn.shuffle(tools)
        for place, tool in enumerate(tools):
            if number and self.spent() > ROUNDS_SHARE * self.budget_s:
                return
            cells = part(self.cells_of(tool), number, size=tool.a_round)
            turn.shuffle(cells)
            chosen = {name: self.settings[tool.name][name] for name in cells}
            self.run(tool, chosen, stage="repeat", number=number)
            self.refer_if(place % 3 == 0)

    def run(self, tool: Tool, settings: Settings, *, stage: str, number: int = 0) -> list[Outcome]:
        """Run one tool, keep its row, and return its outcomes; one that fails is asked no more."""
        if tool.name in self.failures:
            return []
        self.tell(f"{self.spent():5.0f} s  {stage:8} {tool.name}, {len(settings)} cells")
        try:
            outcomes, wall = tool.run(self.place, settings, self.target)
        except ValueError as error:
            self.failures[tool.name] = str(error)
            return []
        for one in outcomes:
            one["reached"] = tool.reached(one, self.target)
        row = {"tool": tool.name, "stage": stage, "round": number, "wall_s": wall}
        self.rows.append(row | {"settings": dict(settings), "outcomes": outcomes})
        return outcomes

    def refer_if(self, due: object) -> None:
        """Run one process of each reference for the clocks that the tools read, if it is due.

        The order changes each time, so that what a tool leaves behind falls on each equally.
        """
        if not due:
            return
        clocks = {tool.clock for tool in self.tools}
        names = [name for (_, clock), name in LONG.items() if clock in clocks]
        turned = sum(row["stage"] == "reference" for row in self.rows) // len(names) % 2
        for name in reversed(names) if turned else names:
            self.refer(name)

    def refer(self, name: str) -> None:
        """Run one process of a reference and keep its row."""
        settings, seed = dict.fromkeys(self.cells, REFERENCE_S), len(self.rows)
        self.tell(f"{self.spent():5.0f} s  {'truth':8} {name}, {len(settings)} cells")
        outcomes, wall = run_child(self.place, name, settings=settings, seed=seed)
        row = {"tool": name, "stage": "reference", "round": 0, "wall_s": wall}
        self.rows.append(row | {"settings": settings, "outcomes": outcomes})


def part(cells: list[str], number: int, *, size: int | None) -> list[str]:
    """Return the cells of a round: all, or the next few of a tool that is slow to start."""
    if size is None or size >= len(cells):
        return list(cells)
    return [cells[(number * size + place) % len(cells)] for place in range(size)]


def mixed(cells: list[str]) -> list[str]:
    """Reorder cells so that neighbours differ in length and in backend."""
    return [name for start in range(APART) for name in cells[start::APART]]
