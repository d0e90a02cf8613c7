"""Gallery: the figures of one report, written beside it and linked from it; stale ones go."""

from __future__ import annotations

import gc
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from harness.report.markup import escape

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = "figures"


@dataclass
class Gallery:
    """Write figures into a report's folder and hand back the Markdown that shows them."""

    report: Path
    names: list[str] = field(default_factory=list)

    def add(self, name: str, figure: Figure | None, alt: str) -> str:
        """Write one figure and return its line; nothing for a figure that has nothing to show."""
        from harness.report.plots.canvas import write_png

        if figure is None:
            return ""
        folder = self.report / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        self.names.append(name)
        write_png(figure, folder / f"{name}.png")
        # A figure is a knot of references that waits for the collector, 4 MB each: the last one
        # goes now, this one with the next.
        gc.collect()
        return f"![{escape(alt)}]({FOLDER}/{name}.png)"

    def sweep(self) -> None:
        """Remove figures of an earlier build that this one did not draw."""
        for path in (self.report / FOLDER).glob("*.png"):
            if path.stem not in self.names:
                path.unlink()
