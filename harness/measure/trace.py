"""One call under torch's profiler: the operators it ran and the host memory it took.

Set KINETO_LOG_LEVEL=99 before torch is imported, or the profiler writes to standard output; the
pool does. The first profile of a process takes about 2 s, each later one 10 to 30 ms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch._C._profiler import _EventType
from torch.profiler import ProfilerActivity, profile

# The host's pointers and a chip's may coincide, so an allocation is known by both.
Address = tuple[str, int]


@dataclass(frozen=True)
class Allocation:
    """One event of an allocator: bytes taken (positive) or given back (negative)."""

    address: Address
    size: int


@dataclass(frozen=True)
class Trace:
    """What one call did: its result, names of operators and kernels in order, allocator events.

    `operators` holds each name once; on CUDA it includes the names of the device's kernels.
    """

    result: Any
    operators: tuple[str, ...]
    allocations: tuple[Allocation, ...]


def trace(call: Callable[[], object], *, cuda: bool = False) -> Trace:
    """Run the call once under the profiler; raises what the call raises."""
    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * cuda
    with profile(activities=activities, profile_memory=True) as recorded:
        result = call()
        if cuda:
            torch.cuda.synchronize()
    assert recorded.profiler is not None
    kineto = recorded.profiler.kineto_results
    assert kineto is not None
    names = dict.fromkeys(event.name() for event in kineto.events())
    names.pop("[memory]", None)
    return Trace(result, tuple(names), tuple(_allocations(kineto.experimental_event_tree())))


def _allocations(tree: Iterable[Any]) -> Iterator[Allocation]:
    """Yield the allocator events in time order; at equal times the tree's order stands."""
    events = [event for event in _flatten(tree) if event.tag == _EventType.Allocation]
    for event in sorted(events, key=lambda event: event.start_time_ns):
        fields = event.extra_fields
        yield Allocation((str(fields.device), fields.ptr), fields.alloc_size)


def _flatten(tree: Iterable[Any]) -> Iterator[Any]:
    """Yield every event depth first, parents before children, without recursion."""
    waiting = list(tree)[::-1]
    while waiting:
        event = waiting.pop()
        yield event
        waiting.extend(event.children[::-1])
