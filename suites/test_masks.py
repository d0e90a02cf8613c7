"""Masks: does a mask take the parallelism away? (claims C9, D-alibi, D-varlen)."""

from collections.abc import Callable

import pytest


@pytest.mark.cells("masks")
def test_masks(measure: Callable[[], None]) -> None:
    """Check, then measure, one cell of the masks sweeps."""
    measure()
