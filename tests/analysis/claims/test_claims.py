"""The ledger: what is not measured says why, verdicts fit their file, claims are summed up."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from harness.analysis.claims import CLAIMS, judge, overall
from harness.analysis.claims.evidence import VERDICTS, Verdict
from harness.records.record import Record, Status
from tests.support.sweep_tables import (
    OCTAVES,
    failed_sweep,
    flash,
    no_matrix,
    sweep,
    table_of,
    verdicts_of,
)


def missing_backend(backend: str) -> list[Record]:
    return failed_sweep(backend, status=Status.UNAVAILABLE, reason="no module")


def test_all_out_of_memory_is_not_measured() -> None:
    lost = failed_sweep("naive", status=Status.OUT_OF_MEMORY, reason="2 GiB do not fit")
    for claim in ("C1", "C3", "C5"):
        [verdict] = verdicts_of(lost, claim=claim)
        assert verdict.verdict == "not_measured"
        assert verdict.reason == "out_of_memory: 2 GiB do not fit"


def test_an_unavailable_backend_has_one_line_per_claim() -> None:
    verdicts = judge(table_of(sweep("naive"), missing_backend("flash-attn")), {})
    lines = [each for each in verdicts if each.series["backend"] == "flash-attn"]
    assert [each.claim for each in lines] == ["C1", "C2", "C4"]
    assert {each.reason for each in lines} == {"unavailable: no module"}
    assert lines[0].sentence == "C1 not measured: flash-attn: unavailable: no module (cpu)"


def test_every_row_names_a_device() -> None:
    records = sweep("naive")
    [verdict] = verdicts_of(records, claim="C14", facts={"run": "r1"})
    assert (verdict.verdict, verdict.series["device"]) == ("supported", "cpu")
    assert "13 cells and 2 verdicts" in verdict.reason
    assert verdict.reason.endswith("run r1")
    records[0] = replace(records[0], device="")
    [verdict] = verdicts_of(records, claim="C14")
    assert verdict.verdict == "refuted"


def test_two_devices_are_judged_apart() -> None:
    found = verdicts_of(sweep("naive"), sweep("naive", case={"device": "cuda"}), claim="C1")
    assert [each.series["device"] for each in found] == ["cpu", "cuda"]


def test_a_cell_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="two rows"):
        judge(table_of(sweep("naive"), sweep("naive")), {})


def test_an_empty_run_measured_nothing() -> None:
    verdicts = judge(table_of(), {})
    assert [each.claim for each in verdicts] == [claim.id for claim in CLAIMS]
    assert {each.verdict for each in verdicts} == {"not_measured"}


def test_a_run_is_judged_the_same_twice_and_fits_its_file() -> None:
    table = table_of(
        sweep("naive"), flash(), sweep("rowwise", OCTAVES, peak=no_matrix), missing_backend("flex")
    )
    verdicts = judge(table, {})
    assert verdicts == judge(table.iloc[::-1], {})
    for verdict in verdicts:
        row = verdict.as_dict()
        assert list(row) == [
            "claim", "series", "verdict", "observed", "low", "high", "expected", "reason",
        ]  # fmt: skip
        json.dumps(row, allow_nan=False)
        assert list(row["series"]) == ["backend", "device", "dtype", "mask", "phase"]
        assert row["verdict"] in VERDICTS
        assert "..." not in verdict.sentence, "a sentence is wrapped where it is shown, never cut"
        assert row["reason"]


def test_no_sentence_claims_more_than_was_seen() -> None:
    for verdict in judge(table_of(sweep("naive"), flash()), {}):
        assert "O(" not in verdict.sentence + verdict.reason
        assert verdict.sentence.startswith(f"{verdict.claim} ")


@pytest.mark.parametrize(
    ("parts", "word"),
    [
        (["supported", "supported", "not_measured"], "supported"),
        (["supported", "refuted", "inconclusive"], "refuted"),
        (["supported", "inconclusive"], "inconclusive"),
        (["not_measured"], "not_measured"),
        ([], "not_measured"),
    ],
)
def test_a_claim_is_summed_up_over_its_series(parts: list[str], word: str) -> None:
    verdicts = [
        Verdict(claim="C1", series={}, verdict=part, reason="", sentence="") for part in parts
    ]
    other = Verdict(claim="C3", series={}, verdict="refuted", reason="", sentence="")
    assert overall([*verdicts, other], "C1") == word


def test_claims_are_told_apart_by_their_id() -> None:
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)
