"""The ledger: every id once, in order, with counts, figures and links that lead somewhere."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from harness.analysis.claims import CLAIMS
from harness.report.claims_table import Entry, anchor, entries, links, listed, named, rank
from harness.report.markdown import SECTIONS
from harness.report.summary import LINES, claim_lines, contrary
from harness.report.view import View
from tests.support import fixed_views as stubs

REQUIRED = [f"A{n}" for n in range(1, 14)] + ["B1", "B2"] + [f"C{n}" for n in range(1, 15)]
BEYOND = ["D-alibi", "D-cross", "D-gqa", "D-gqa-time", "D-varlen", "D-window", "D-window-mask"]


@pytest.fixture(scope="module")
def text(report: Path) -> str:
    return (report / "README.md").read_text(encoding="utf-8")


def ledger_rows(text: str) -> list[list[str]]:
    """Return the cells of the first table of the report."""
    lines = text[text.index("| claim |") :].split("\n\n")[0].splitlines()[2:]
    return [line.strip("| ").split(" | ") for line in lines]


def entry(*words: str, **fields: object) -> Entry:
    verdicts = [stubs.verdict("C1", f"b{at}", word, **fields) for at, word in enumerate(words)]
    (found,) = entries(stubs.CLAIMS[:1], verdicts)  # type: ignore[arg-type]
    return found


def test_every_id_has_one_line_in_the_order_of_the_ledger(text: str) -> None:
    ids = [row[0] for row in ledger_rows(text)]
    assert Counter(ids).most_common(1)[0][1] == 1
    assert [each for each in ids if not each.startswith("D-")] == REQUIRED
    assert set(BEYOND) <= set(ids)
    assert ids == sorted(ids, key=rank)
    assert len(ids) == len(CLAIMS)


def test_a_claim_that_nothing_bears_on_says_so(text: str) -> None:
    rows = {row[0]: row for row in ledger_rows(text)}
    assert rows["D-gqa"][3:5] == ["not measured", "no cell of this run bears on it"]
    assert rows["C3"][3] != "not measured"
    assert all(all(cell.strip() for cell in row) for row in rows.values())


def test_every_link_leads_to_a_heading_of_the_report(text: str) -> None:
    headings = [anchor(title) for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE)]
    linked = re.findall(r"\]\(#([^)]+)\)", text)
    assert set(linked) <= set(headings)
    assert all(headings.count(target) == 1 for target in set(linked))
    own = [row[5] for row in ledger_rows(text)]
    assert all(cell.startswith("[series](#") for cell in own)
    assert any("[Peak memory](#peak-memory)" in cell for cell in own)


def test_links_name_claims_and_sections_that_are_there() -> None:
    claims = {claim.id: claim for claim in CLAIMS}
    assert all(claim.shown_in for claim in CLAIMS)
    assert {title for claim in CLAIMS for title in claim.shown_in} <= set(SECTIONS)
    assert links(claims["C5"]) == "[series](#c5), [Heads and batch](#heads-and-batch)"
    assert anchor("What was not measured, and why") == "what-was-not-measured-and-why"
    assert anchor("Score matrices: predicted and measured") in links(claims["C3"])


def test_counts_name_what_speaks_against() -> None:
    assert entry("supported").tally() == "supported"
    assert entry("supported", "supported", "not_measured").tally() == "supported (2 of 2 series)"
    mixed = entry("supported", "inconclusive", "refuted", "supported")
    assert mixed.tally() == "refuted (2 of 4 series), 1 refuted: b2, 1 open: b1"
    assert mixed.count() == "2/4"
    assert entry("not_measured").count() == ""
    assert listed(["a", "b", "a", "c", "d"]) == "a (2), b, c and 1 more"


def test_a_series_is_named_by_what_is_unusual() -> None:
    series = {"backend": "sdpa-flash", "device": "cpu", "dtype": "float32", "mask": "causal"}
    assert named({**series, "phase": "forward"}) == "sdpa-flash causal"
    assert named({**series, "mask": "full", "phase": "backward"}) == "sdpa-flash backward"
    assert named({"backend": None, "device": "cpu"}) == "cpu"


def test_what_was_observed_is_a_figure_a_span_or_a_reason() -> None:
    one = entry("supported", observed=2.078, low=2.051, high=2.112)
    assert one.observed() == "2.08 [2.05, 2.11]"
    both = Entry(one.claim, "supported", (*one.verdicts, stubs.verdict(
        "C1", "b", "supported", observed=1.99, low=1.9, high=2.0)))  # fmt: skip
    assert both.observed() == "1.99 to 2.08 [1.90, 2.11]"
    assert entry("supported", reason="72 cells agree").observed() == "72 cells agree"
    assert entry("not_measured", reason="no RNN").observed() == "no RNN"
    assert Entry(one.claim, "not_measured", ()).observed().startswith("this version")


@pytest.mark.parametrize("width", [60, 80, 100])
def test_each_claim_is_one_line_of_the_terminal(width: int, judged: View) -> None:
    ledger = entries(CLAIMS, judged.verdicts)
    lines = [line for _, line in claim_lines(ledger, width=width)]
    assert len(lines) == len(CLAIMS)
    assert all(len(line) <= width and "\n" not in line for line in lines)
    assert lines[0].startswith("A1 ")
    c1 = next(line for line in lines if line.startswith("C1 "))
    assert "dense attention" in c1
    assert re.search(r" \d+/\d+ ", c1)


def test_what_speaks_against_claims_is_told_in_a_few_lines_refuted_first() -> None:
    words = {"C1": ["inconclusive"] * 9 + ["supported"], "C3": ["refuted"] * 8}
    verdicts = [
        stubs.verdict(claim, f"b{at}", word)
        for claim, kinds in words.items()
        for at, word in enumerate(kinds)
    ]
    lines = list(contrary(entries(stubs.CLAIMS, verdicts)))  # type: ignore[arg-type]
    assert [word for word, _ in lines] == ["refuted"] * 8 + ["inconclusive"] * 4 + [None]
    assert len(lines) == LINES + 1
    assert lines[-1][1] == "5 more series in the report (5 inconclusive)"


def test_every_claim_is_heard_before_any_is_heard_twice() -> None:
    verdicts = [
        stubs.verdict(claim, f"b{at}", "refuted") for at in range(3) for claim in ("C1", "C3")
    ]
    lines = [line for _, line in contrary(entries(stubs.CLAIMS, verdicts))]  # type: ignore[arg-type]
    assert [line[:2] for line in lines] == ["C1", "C3"] * 3
