"""Markdown: tables, and a share with its interval."""

from __future__ import annotations

from collections.abc import Sequence

from scipy.stats import binomtest


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 2) -> str:
    """Write a table: the first `words` columns to the left, figures to the right."""
    if not rows:
        return "Not measured."
    sides = [*["---"] * words, *["---:"] * (len(heads) - words)]
    lines = [heads, sides, *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def share(part: float, whole: float) -> str:
    """Show a count, its share and the exact 95 % interval of the share."""
    low, high = binomtest(int(part), int(whole)).proportion_ci(0.95, method="exact")
    return f"{part:.0f}/{whole:.0f} \\[{low:.0%}, {high:.0%}\\]"
