"""Concord: the rule that a chosen kind of cells agrees with the oracle on every backend."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from harness.analysis.cells import is_ok
from harness.analysis.evidence import Claim, Evidence, not_measured
from harness.analysis.verdict import (
    INCONCLUSIVE,
    NOTHING,
    REFUTED,
    SUPPORTED,
    Estimate,
    Part,
    Verdict,
    no_series,
)
from harness.record import Record, Status

Choice = Callable[[Record], bool]


def concord_rule(evidence: Evidence, claim: Claim, *, chosen: Choice) -> list[Verdict]:
    """Make one verdict per backend and device on the cells that `chosen` picks."""
    groups: defaultdict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in filter(chosen, evidence.records):
        groups[record.backend, record.device].append(record)
    return [
        concord_verdict(claim.id, cells, backend=backend, device=device)
        for (backend, device), cells in sorted(groups.items())
    ]


def concord_verdict(claim: str, cells: list[Record], *, backend: str, device: str) -> Verdict:
    """Make the verdict of one backend; observed is its largest error over what is allowed."""
    if not any(map(is_asked, cells)):
        reason = f"{cells[0].status}: {cells[0].reason}"
        return not_measured(claim, reason, backend=backend, device=device)
    part = concord_part(cells)
    where = no_series(backend=backend, device=device)
    text = f"{backend}: {part.reason}"
    observed = worst_share(cells)
    return Verdict.on(claim, where, part=part, text=text, observed=observed, expected=1.0)


def is_asked(record: Record) -> bool:
    """Whether the backend took on the cell: an answer, a crash or an error, not a refusal."""
    return is_ok(record) or record.failed


def concord_part(cells: Sequence[Record]) -> Part:
    """Judge that all cells agree: one that does not refutes, one that failed leaves it open."""
    wrong = [cell for cell in cells if cell.status == Status.DISAGREES]
    if wrong:
        text = f"{len(wrong)} of {len(cells)} cells disagree, {wrong[0].cell}: {wrong[0].reason}"
        return Part(REFUTED, text)
    failed = [cell for cell in cells if cell.failed]
    if failed:
        text = f"{len(failed)} of {len(cells)} cells gave no answer, {failed[0].cell}"
        return Part(INCONCLUSIVE, f"{text}: {failed[0].status}: {failed[0].reason}")
    agreed = sum(map(is_ok, cells))
    refused = len(cells) - agreed
    others = f", {refused} refused" if refused else ""
    share = worst_share(cells)[0]
    error = "" if share is None else f", error at most {share:.2g} of what is allowed"
    cells_agree = "1 cell agrees" if agreed == 1 else f"{agreed} cells agree"
    return Part(SUPPORTED, f"{cells_agree}{others}{error}")


def worst_share(cells: Sequence[Record]) -> Estimate:
    """Return the largest error over its tolerance; it is exact, so its interval is a point."""
    shares = [
        cell.error_max / cell.tolerance
        for cell in cells
        if cell.error_max is not None and cell.tolerance
    ]
    return (max(shares),) * 3 if shares else NOTHING
