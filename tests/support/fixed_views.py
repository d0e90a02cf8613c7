"""A view with fixed claims, verdicts, exponents: goldens must not follow the analysis."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from harness.analysis.claims.evidence import Verdict
from harness.analysis.fits.series import SeriesFit, memory_fit, sweeps
from harness.analysis.fits.time_fit import TimeFit
from harness.records.store import Run
from harness.records.tables import records_of
from harness.report.view import View


class StubClaim(NamedTuple):
    id: str
    sentence: str
    prediction: str
    shown_in: tuple[str, ...]


CLAIMS = (
    StubClaim("C1", "time grows as T²", "exponent 2", ("Time", "Throughput")),
    StubClaim(
        "C3", "storing the scores costs T² memory", "exponent 2",
        ("Peak memory", "Score matrices: predicted and measured"),
    ),
    StubClaim(
        "C8", "an RNN waits for its previous state", "sequential steps = T",
        ("Layers, recurrence, generation",),
    ),
)  # fmt: skip


def verdict(claim: str, backend: str, word: str, **fields: Any) -> Verdict:
    series = {
        "backend": backend, "device": "cpu", "dtype": "float32", "mask": "full",
        "phase": "forward",
    }  # fmt: skip
    sentence = f"{claim} {word.replace('_', ' ')}: {backend} (cpu, float32, full)"
    defaults = {"reason": "inside: as it should be | <b>", "sentence": sentence, "expected": 2.0}
    return Verdict(claim=claim, series=series, verdict=word, **defaults | fields)


VERDICTS = [
    verdict("C1", "naive", "supported", observed=2.078, low=2.051, high=2.112),
    verdict("C1", "rowwise", "inconclusive", observed=2.22, low=2.15, high=2.28),
    verdict("C1", "flash-attn", "not_measured", reason="unavailable"),
    verdict("C3", "naive", "refuted", observed=1.0, low=1.0, high=1.0),
    verdict("C8", "naive", "not_measured", reason="no RNN was measured"),
]


def fits(run: Run) -> list[SeriesFit]:
    """Give every sweep the same exponent, but rowwise a floor; memory laws are the real ones."""
    made = []
    for series in sweeps(records_of(run.table)):
        lengths = series.lengths
        fit = TimeFit(
            lengths=lengths, length_min=lengths[0], length_max=lengths[-1], exponent=2.078,
            low=2.051, high=2.112, reason="floor" if series.key.backend == "rowwise" else None,
        )  # fmt: skip
        made.append(SeriesFit(series, fit, memory_fit(series)))
    return made


def stub_view(run: Run, monkeypatch: pytest.MonkeyPatch) -> View:
    """Make a view of a run whose claims, verdicts and exponents are fixed."""
    monkeypatch.setattr("harness.analysis.claims.CLAIMS", CLAIMS)
    return View(run, VERDICTS, fits(run))
