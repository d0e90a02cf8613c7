"""Agreement: the rule that chosen cells agree with the oracle (D-alibi, D-cross)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial

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
from harness.records.record import Record, Status

Choice = Callable[[Record], bool]
ALIBI, PLAIN = "alibi", "causal"


def agreement_rule(evidence: Evidence, claim: Claim, *, chosen: Choice) -> list[Verdict]:
    """Make one verdict per backend and device on the cells that `chosen` picks."""
    groups: defaultdict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in filter(chosen, evidence.records):
        groups[record.backend, record.device].append(record)
    return [
        agreement_verdict(claim.id, cells, backend=backend, device=device)
        for (backend, device), cells in sorted(groups.items())
    ]


def agreement_verdict(claim: str, cells: list[Record], *, backend: str, device: str) -> Verdict:
    """Make the verdict of one backend; observed is its largest error over what is allowed."""
    if not any(map(is_asked, cells)):
        reason = f"{cells[0].status}: {cells[0].reason}"
        return not_measured(claim, reason, backend=backend, device=device)
    part = agreement_part(cells)
    where = no_series(backend=backend, device=device)
    text = f"{backend}: {part.reason}"
    observed = worst_share(cells)
    return Verdict.on(claim, where, part=part, text=text, observed=observed, expected=1.0)


def is_asked(record: Record) -> bool:
    """Whether the backend took on the cell: an answer, a crash or an error, not a refusal."""
    return is_ok(record) or record.failed


def agreement_part(cells: Sequence[Record]) -> Part:
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
    part, ratios = agreement_part(cells), over_plain(evidence, cells)
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


def is_crossed(record: Record) -> bool:
    """Whether the queries are of another sequence than the keys: their lengths differ."""
    return record.work == "attention" and record.length_query != record.length_key


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="D-alibi",
        sentence="ALiBi adds a bias that is linear in the distance: right, and at what cost",
        quantity="agreement and time",
        series="cell under mask alibi",
        prediction="agrees; the time over plain causal is printed",
        scope=Scope(("*",), (ALIBI,)),
        rule=alibi_rule,
        shown_in=("Masks",),
    ),
    Claim(
        id="D-cross",
        sentence="cross-attention is right for fewer and for more queries than keys",
        quantity="agreement",
        series="cell with Tq != Tk",
        prediction="every cell agrees",
        scope=Scope(()),
        rule=partial(agreement_rule, chosen=is_crossed),
        shown_in=("Agreement",),
    ),
)
