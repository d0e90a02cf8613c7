"""Features: time and memory against the dims of keys and values (claim C2)."""

from collections.abc import Callable

import pytest


@pytest.mark.cells("features")
def test_features(measure: Callable[[], None]) -> None:
    """Check, then measure, one cell of the features sweeps."""
    measure()
