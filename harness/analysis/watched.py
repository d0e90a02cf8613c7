"""Watched: the figure of a cell that is followed from run to run: median or fastest process."""

from __future__ import annotations

import math

import numpy as np

from harness.analysis.columns import Array, Flags
from harness.analysis.gate import SPREADS, WINDOW, spread_of

# A cell whose medians would let 5 % through is followed by its fastest process if that is quieter.
COARSE = math.log(1.05)


def watched(medians: Array, replicas: Array) -> tuple[Array, Flags]:
    """Return the series to follow [run, cell] and which cells are followed by the fastest process.

    `medians` [run, cell] and `replicas` [run, process, cell] are log times; the last run is the
    one to judge and has no say in the choice. Where each process takes one of two modes, the
    median of three jumps between them; the fastest of three is in the quick mode nearly always,
    and moves as much when the code gets slower or the quick mode is lost.
    """
    if len(medians) < 2:
        return medians, np.zeros(medians.shape[1], dtype=bool)
    fastest = np.fmin.reduce(replicas, axis=1)
    past = slice(max(0, len(medians) - 1 - WINDOW), len(medians) - 1)
    both = np.isfinite(medians[past]) & np.isfinite(fastest[past])
    known = both.any(axis=0)
    usual, quick = (
        spread_of(np.where(both, series[past], np.where(known, np.nan, 0.0)))
        for series in (medians, fastest)
    )
    chosen = known & (SPREADS * usual > COARSE) & (quick < usual)
    return np.where(chosen, fastest, medians), chosen
