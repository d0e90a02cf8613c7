"""Anchors: where in a report each claim is shown, as links that lead somewhere."""

from __future__ import annotations

import re
WORKS = "Layers, recurrence, generation"
# The sections beside its own lines in which a claim can be seen.
SHOWN: dict[str, tuple[str, ...]] = {
    "A": ("Behaviour",),
    "A11": (WORKS,),
    "A12": (WORKS,),
    "B": ("Behaviour",),
    "C1": ("Time", "Throughput"),
    "C2": ("Heads and batch",),
    "C3": ("Peak memory", "Score matrices: predicted and measured"),
    "C4": ("Peak memory", "Time"),
    "C5": ("Heads and batch",),
    "C6": ("Peak memory", "Speed-up over the baseline"),
    "C7": ("Speed-up over the baseline",),
    "C8": (WORKS,),
    "C9": ("Masks", "Time"),
    "C10": (WORKS,),
    "C11": (WORKS,),
    "C12": (WORKS,),
    "C13": (WORKS,),
    "C14": ("Settings",),
    "D-alibi": ("Masks",),
    "D-backward": ("Training",),
    "D-cross": ("Agreement",),
    "D-gqa": ("Heads and batch",),
    "D-gqa-time": ("Heads and batch",),
    "D-training-memory": ("Training",),
    "D-varlen": ("Masks",),
    "D-window": ("Time",),
    "D-window-mask": ("Time",),
}


def anchor(title: str) -> str:
    """Return the anchor that a Markdown heading gets: lower case, hyphens, no punctuation."""
    kept = re.sub(r"[^\w\- ]", "", title.lower())
    return kept.replace(" ", "-")


def link(title: str, text: str = "") -> str:
    """Link to a heading of the same report; titles are our own words."""
    return f"[{text or title}](#{anchor(title)})"


def links(claim: str) -> str:
    """Link to a claim's own lines, then to the sections that show it."""
    sections = SHOWN.get(claim) or SHOWN.get(claim[:1], ())
    found = [link(title, title.partition(":")[0]) for title in sections]
    return ", ".join([link(claim, "series"), *found])
