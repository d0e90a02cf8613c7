"""Layer: a whole multi-head attention layer, and its four products alone (claim C13)."""

from collections.abc import Callable

import pytest


@pytest.mark.cells("layer")
def test_layer(measure: Callable[[], None]) -> None:
    """Check, then measure, one cell of the layer sweeps."""
    measure()
