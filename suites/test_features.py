"""Features: time and memory against the head dimension."""

from collections.abc import Callable

import pytest


@pytest.mark.cells("features")
def test_features(measure: Callable[[], None]) -> None:
    """Check, then measure, one cell of the features sweeps."""
    measure()
