"""Heads and batch: score memory in B and in H (claims C5, C7, D-gqa)."""

from collections.abc import Callable

import pytest


@pytest.mark.cells("heads")
def test_heads(measure: Callable[[], None]) -> None:
    """Check, then measure, one cell of the heads sweeps."""
    measure()
