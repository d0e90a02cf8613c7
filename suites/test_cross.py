"""Cross-attention: queries of one sequence, keys and values of another (claim D-cross)."""

from collections.abc import Callable

import pytest


@pytest.mark.cells("cross")
def test_cross(measure: Callable[[], None]) -> None:
    """Check, then measure, one cell with more or fewer queries than keys."""
    measure()
