"""Precision: the same work in other dtypes."""

from collections.abc import Callable

import pytest


@pytest.mark.cells("precision")
def test_precision(measure: Callable[[], None]) -> None:
    """Check, then measure, one cell of the precision sweeps."""
    measure()
