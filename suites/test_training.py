"""Training: what do forward, backward and both take, and what is held between? (section D)."""

from collections.abc import Callable

import pytest


@pytest.mark.cells("training")
def test_training(measure: Callable[[], None]) -> None:
    """Check output and gradients, then measure, one cell of the training sweeps."""
    measure()
