"""Spending: where the wall time of a visit goes, so that the suite's own cost can be told."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter


class Spending:
    """Add up seconds by purpose; what runs inside another purpose is taken from that one."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._inner = [0.0]

    @contextmanager
    def on(self, purpose: str) -> Iterator[None]:
        """Count the seconds inside towards a purpose."""
        begin = perf_counter()
        self._inner.append(0.0)
        try:
            yield
        finally:
            whole = perf_counter() - begin
            self.seconds[purpose] += whole - self._inner.pop()
            self._inner[-1] += whole
