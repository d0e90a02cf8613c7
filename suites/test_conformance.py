"""Conformance: what does each backend do where people got hurt? (claims A1 to A10, A13, B)."""

from collections.abc import Callable

import pytest


@pytest.mark.behaviours
def test_conformance(conform: Callable[[], None]) -> None:
    """Ask one behaviour of one backend."""
    conform()
