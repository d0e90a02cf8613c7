"""Generation: a toy model at once, by prefixes, token by token (claims A11, A12, C10 to C12)."""

from collections.abc import Callable

import pytest


@pytest.mark.cells("generation")
def test_generation(measure: Callable[[], None]) -> None:
    """Check, then measure, one cell of the generation sweeps."""
    measure()
