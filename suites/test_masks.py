"""Masks: does a mask take the parallelism away? (claim C9)."""

from collections.abc import Callable

import pytest


@pytest.mark.cells("masks")
def test_masks(measure: Callable[[], None]) -> None:
    """Check, then measure, one cell of the masks sweeps."""
    measure()
