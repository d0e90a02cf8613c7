"""The claims of the conformance table, on made-up tables: true, refuted, and not asked."""

from __future__ import annotations

from typing import Any

import pytest

from harness.analysis.claims import CLAIMS, judge
from harness.analysis.claims.evidence import Verdict
from harness.analysis.claims.exact import exact_rule
from harness.attention.behaviours import BEHAVIOURS
from harness.records.record import Finding
from harness.records.tables import make_conformance
from tests.support.sweep_tables import table_of

LEDGER = [claim.id for claim in CLAIMS if claim.rule is exact_rule]
BACKENDS = ("naive", "tiled", "sdpa-flash")


def row(behaviour: str, backend: str = "naive", **fields: Any) -> Finding:
    values = {"device": "cpu", "dtype": "float32", "expected": "1", "observed": "1"}
    return Finding(
        **{"backend": backend, "verdict": "conforms", **values, **fields}, behaviour=behaviour
    )


def rows(claim: str, **fields: Any) -> list[Finding]:
    names = [name for name, one in BEHAVIOURS.items() if claim in one.sources]
    return [
        row(name, "torch" if BEHAVIOURS[name].alone else backend, **fields)
        for name in names
        for backend in BACKENDS
    ]


def verdicts(findings: list[Finding], claim: str) -> list[Verdict]:
    found = judge(table_of(), {}, make_conformance(findings))
    return [one for one in found if one.claim == claim]


def test_every_claim_of_the_table_has_behaviours() -> None:
    assert [f"A{n}" for n in (*range(1, 11), 13)] + ["B1", "B2"] == LEDGER
    for claim in LEDGER:
        assert rows(claim), claim
    assert set(LEDGER) <= {claim.id for claim in CLAIMS}


@pytest.mark.parametrize("claim", LEDGER)
def test_a_claim_holds_where_every_backend_conforms(claim: str) -> None:
    [found] = verdicts(rows(claim), claim)
    assert (found.verdict, found.series["device"]) == ("supported", "cpu")
    assert found.reason


@pytest.mark.parametrize("claim", LEDGER)
@pytest.mark.parametrize("fault", ["deviates", "crashes"])
def test_one_fault_refutes_a_claim(claim: str, fault: str) -> None:
    table = rows(claim)
    table[-1] = row(table[-1].behaviour, table[-1].backend, verdict=fault, observed="2")
    [found] = verdicts(table, claim)
    assert found.verdict == "refuted"
    assert f"{table[-1].backend} in {table[-1].behaviour}: expected 1, observed 2" in found.reason


@pytest.mark.parametrize("claim", LEDGER)
def test_a_claim_nobody_was_asked_about_is_not_measured(claim: str) -> None:
    [found] = verdicts([], claim)
    assert (found.verdict, found.reason) == (
        "not_measured",
        "no behaviour of this claim was asked for",
    )
    [found] = [one for one in judge(table_of(), {}) if one.claim == claim]
    assert found.verdict == "not_measured"


def test_refusals_are_named_and_do_not_refute() -> None:
    refusal = row("value-dim-differs", "sdpa-flash", verdict="refuses", reason="same dims only")
    [found] = verdicts([row("value-dim-differs"), row("shapes"), refusal], "A9")
    assert found.verdict == "supported"
    assert found.reason.endswith("refused by sdpa-flash: same dims only")
    [found] = verdicts([refusal], "A9")
    assert (found.verdict, found.reason) == (
        "not_measured",
        "every backend refuses: same dims only",
    )


def test_a_known_fault_of_another_behaviour_does_not_touch_a_claim() -> None:
    fault = row("nan-query", "sdpa-flash", verdict="deviates", reason="known: zeros")
    [found] = verdicts([*rows("A5"), fault], "A5")
    assert found.verdict == "supported"


def test_two_devices_are_judged_apart() -> None:
    table = [row("shapes"), row("shapes", device="cuda", verdict="deviates", observed="2")]
    found = verdicts(table, "A9")
    assert [(one.series["device"], one.verdict) for one in found] == [
        ("cpu", "supported"),
        ("cuda", "refuted"),
    ]


def test_a_slope_is_carried_with_its_interval() -> None:
    slope = row(
        "score-variance", "torch", expected="slope 1", observed="slope 1.003 [0.996, 1.011]"
    )
    flat = row("scaled-score-variance", "torch", expected="slope 0", observed="slope 0.003 [0, 1]")
    [found] = verdicts([slope, flat], "B1")
    assert (found.observed, found.low, found.high) == (1.003, 0.996, 1.011)
    assert found.expected == 1.0
