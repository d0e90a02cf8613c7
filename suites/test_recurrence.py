"""Recurrence: an RNN, a GRU and an LSTM, which take one step per position (claim C8)."""

from collections.abc import Callable

import pytest


@pytest.mark.cells("recurrence")
def test_recurrence(measure: Callable[[], None]) -> None:
    """Check, then measure, one cell of the recurrence sweeps."""
    measure()
