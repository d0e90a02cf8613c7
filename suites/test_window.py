"""Window: does time grow as T where hidden keys are skipped? (claims D-window, D-window-mask)"""

from collections.abc import Callable

import pytest


@pytest.mark.cells("window")
def test_window(measure: Callable[[], None]) -> None:
    """Check, then measure, one cell of the sliding-window sweeps."""
    measure()
