"""Length: how do time and memory grow with T? (claims C1, C3, C4, C6, C7)"""

from collections.abc import Callable

import pytest


@pytest.mark.cells("length")
def test_length(measure: Callable[[], None]) -> None:
    """Check, then measure, one cell of the length sweeps."""
    measure()
