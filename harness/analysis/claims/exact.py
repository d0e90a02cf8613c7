"""Exact: claims that hold or do not: by behaviours asked, and by cells that agree."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from harness.analysis.claims.evidence import (
    INCONCLUSIVE,
    NOTHING,
    REFUTED,
    SUPPORTED,
    Claim,
    Estimate,
    Evidence,
    Part,
    Scope,
    Verdict,
    no_series,
    not_measured,
    series_of,
)
from harness.analysis.fits.ratio import Ratio
from harness.analysis.fits.series import SeriesKey, is_ok
from harness.records.record import CONFORMS, REFUSES, Finding, Record, Status

if TYPE_CHECKING:
    import pandas as pd

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


# `1.002 [0.997, 1.007]`: a figure with its interval inside the text of what was observed.
INTERVAL = re.compile(r"(-?[\d.]+) \[(-?[\d.]+), (-?[\d.]+)\]")
TOLD = 2  # deviations and refusals told in full in a reason


def exact_rule(evidence: Evidence, claim: Claim) -> list[Verdict]:
    """Judge a claim by its behaviours, on each device: one deviation refutes it.

    Backends that refuse are named in the reason; if all do, nothing was measured.
    """
    from harness.attention.behaviours import BEHAVIOURS

    ids = {one.id for one in BEHAVIOURS.values() if claim.id in one.sources}
    rows = [row for row in evidence.conformance if row.behaviour in ids]
    if not rows:
        return [not_measured(claim.id, "no behaviour of this claim was asked for")]
    devices = sorted({row.device for row in rows})
    return [judge_rows(claim.id, [row for row in rows if row.device == d]) for d in devices]


def judge_rows(claim: str, rows: Sequence[Finding]) -> Verdict:
    """Make the verdict on one device."""
    asked = [row for row in rows if row.verdict != REFUSES]
    if not asked:
        reason = f"every backend refuses: {rows[0].reason}"
        return not_measured(claim, reason, device=rows[0].device)
    wrong = [row for row in asked if row.verdict != CONFORMS]
    part = Part(REFUTED if wrong else SUPPORTED, told(asked, wrong))
    observed, expected = figure(rows)
    where = no_series(device=rows[0].device)
    return Verdict.on(
        claim, where, part=part.noting(*refusals(rows)), text=part.reason, observed=observed,
        expected=expected,
    )  # fmt: skip


def told(asked: Sequence[Finding], wrong: Sequence[Finding]) -> str:
    """Say which backends are right, or what the wrong ones gave."""
    if not wrong:
        names = list(dict.fromkeys(row.backend for row in asked))
        behaviours = len({row.behaviour for row in asked})
        if len(names) == len(asked) == 1:
            return f"expected {asked[0].expected}, observed {asked[0].observed}"
        checks = f"{len(asked)} checks of {behaviours} behaviour{'s' * (behaviours > 1)}"
        return f"as expected in {checks}: {', '.join(names)}"
    parts = [
        f"{row.backend} in {row.behaviour}: expected {row.expected}, "
        f"observed {row.observed or row.reason}"
        for row in wrong[:TOLD]
    ]
    more = len(wrong) - TOLD
    return "; ".join(parts + [f"{more} more deviations"] * (more > 0))


def refusals(rows: Sequence[Finding]) -> list[str]:
    """Name who refuses what, one clause for each reason."""
    names: dict[str, list[str]] = {}
    for row in rows:
        if row.verdict == REFUSES:
            names.setdefault(row.reason or "no reason given", []).append(row.backend)
    return [
        f"refused by {', '.join(dict.fromkeys(who))}: {reason}" for reason, who in names.items()
    ]


def figure(rows: Sequence[Finding]) -> tuple[Estimate, float | None]:
    """Return the figure with its interval that the first row observed, and the expected one."""
    found = INTERVAL.search(rows[0].observed or "")
    expected = re.search(r"-?[\d.]+$", rows[0].expected or "")
    if found is None or expected is None:
        return NOTHING, None
    value, low, high = map(float, found.groups())
    return (value, low, high), float(expected[0])


def read_findings(table: pd.DataFrame | None) -> tuple[Finding, ...]:
    """Turn the rows of a conformance table back into findings."""
    if table is None:
        return ()
    rows = table.astype(object).where(table.notna(), None).to_dict("records")
    return tuple(
        Finding.from_dict({str(name): value for name, value in row.items()}) for row in rows
    )


def _claim(id: str, sentence: str, prediction: str) -> Claim:
    return Claim(
        id=id,
        sentence=sentence,
        quantity="values",
        series="conformance table",
        prediction=prediction,
        scope=Scope(()),
        rule=exact_rule,
    )


EXACT: tuple[Claim, ...] = (
    _claim("A1", "one matrix product = row by row = the library's attention", "17/3, equal rows"),
    _claim("A2", "the weights of one query sum to 1", "1/6, 2/6, 3/6"),
    _claim("A3", "a mask acts before softmax, not after", "1/3, 2/3, 0 and not 1/6, 2/6, 0"),
    _claim(
        "A4",
        "an additive 0/-inf mask = a boolean keep mask",
        "equal; True keeps in SDPA and drops in key_padding_mask",
    ),
    _claim("A5", "causal: position i sees 0..i, itself included", "a lower triangle"),
    _claim(
        "A6",
        "a row with every key forbidden is undefined",
        "naive NaN, a finite minimum the mean of V, others their own rule",
    ),
    _claim(
        "A7",
        "padding hides PAD as keys; PAD query rows still give output",
        "real rows unchanged, PAD rows not 0",
    ),
    _claim(
        "A8",
        "position i of a layer waits for no other output of that layer",
        "row i alone changes",
    ),
    _claim("A9", "shapes are (B, H, T, D), and d_v may differ from d_k", "shapes and values"),
    _claim("A10", "multi-head = concatenation of heads times W^O", "nn.MultiheadAttention"),
)
CROSS: tuple[Claim, ...] = (
    _claim("A13", "cross-attention: queries and keys of two sequences, Tq != Tk", "the oracle"),
)
NUMERICAL: tuple[Claim, ...] = (
    _claim("B1", "Var(q·k) = d_k, and 1 after division by sqrt(d_k)", "slope 1; 0 after scaling"),
    _claim(
        "B2",
        "large scores concentrate softmax and shrink its gradient",
        "without scaling weight -> 1, gradient -> 0; with it flat",
    ),
)


ALIBI, PLAIN = "alibi", "causal"


def alibi_rule(evidence: Evidence, claim: Claim) -> list[Verdict]:
    """Make one verdict per series on its cells under the bias."""
    groups: defaultdict[tuple[str, ...], list[Record]] = defaultdict(list)
    for record in evidence.records:
        if claim.scope.covers(record) and is_asked(record):
            where = (record.backend, record.device, record.dtype, record.phase)
            groups[where].append(record)
    return [alibi_verdict(evidence, claim.id, groups[where]) for where in sorted(groups)]


def alibi_verdict(evidence: Evidence, claim: str, cells: list[Record]) -> Verdict:
    """Make the verdict of one series; observed is the ratio to plain causal at the largest T."""
    part, ratios = concord_part(cells), over_plain(evidence, cells)
    cost = "no causal cell of the same shape to compare with"
    if ratios:
        cost = f"time over plain causal {ratios[-1]} at T={ratios[-1].length}"
    last = ratios[-1] if ratios else None
    right = f"{cells[0].backend} agrees under ALiBi, {cost}"
    return Verdict.on(
        claim,
        series_of(cells[0]),
        part=part.noting(cost),
        text=right if part.verdict == SUPPORTED else f"{cells[0].backend}: {part.reason}",
        observed=(last.value, last.low, last.high) if last else NOTHING,
    )


def over_plain(evidence: Evidence, cells: list[Record]) -> list[Ratio]:
    """Return the ratios to the causal cells of the same shapes, by length."""
    found = []
    for key in dict.fromkeys(map(SeriesKey.of, cells)):
        found += evidence.ratios(key, key.with_(mask=PLAIN))
    return sorted(found, key=lambda ratio: ratio.length)
