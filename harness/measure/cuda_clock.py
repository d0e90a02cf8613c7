"""The chip's clock: CUDA events around work that is queued behind a bounded spin.

Four metrics, each a clock of its own: `gpu_time`, `graph_time`, `latency`, `dispatch`.
"""

from __future__ import annotations

import math
import time

from harness.measure.clock import Call, Nanoseconds, Paced, warm_up
from harness.measure.device import AcceleratorDevice, Event

METRICS = {
    "gpu_time": "device time between two events, the work queued beforehand",
    "graph_time": "gpu_time of a captured CUDA graph: no launches at all",
    "latency": "host time from the call to the end of its work, on an idle device",
    "dispatch": "host time of the call alone, which returns before the work ends",
}
CACHES = ("cold", "hot")
# About 0.1 ms at 2 GHz: longer than the host needs to queue a handful of kernels.
FIRST_SPIN_CYCLES = 200_000
# About 50 ms at 2 GHz. A host that needs longer than this to queue a call sets the pace itself.
LAST_SPIN_CYCLES = 100_000_000
# Events resolve 0.5 us (CUDA runtime API, cudaEventElapsedTime): 2.5 % of this, 0.5 % of a block.
SHORT_CALL_S = 20e-6
BLOCK_S = 100e-6


class CudaClock:
    """Time calls on a device with a queue. ValueError for an unknown metric or cache.

    A sample of gpu_time: flush L2 -> spin -> start event -> calls -> end event. If the start
    event has passed by the time the end event is queued, the host was late and the gap between
    kernels would be timed: the spin doubles and the sample is taken again. At the cap the call is
    `launch_bound`, and its samples hold launch gaps. Calls under 20 us share a pair of events, so
    only the first of a block finds a cold cache.
    """

    def __init__(
        self,
        device: AcceleratorDevice,
        metric: str = "gpu_time",
        *,
        cache: str = "cold",
        now: Nanoseconds = time.perf_counter_ns,
    ) -> None:
        if metric not in METRICS:
            raise ValueError(f"unknown metric {metric!r}; valid: {', '.join(METRICS)}")
        if cache not in CACHES:
            raise ValueError(f"unknown cache {cache!r}; valid: {', '.join(CACHES)}")
        self.device, self.metric, self.cache, self.now = device, metric, cache, now
        self._pending: list[tuple[Paced, Event, Event, int]] = []

    def calibrate(self, call: Call, *, first_s: float = 0.0) -> Paced:
        """Warm up, then choose calls per sample and, for graph_time, capture them.

        The length of the first use says nothing here: it compiled, or planned.
        """
        warm_up(call, self.now, self.device.synchronize)
        paced = Paced(call, spin_cycles=FIRST_SPIN_CYCLES)
        if self.metric in ("gpu_time", "graph_time"):
            self._fill_block(paced)
        if self.metric == "graph_time":
            paced.call = self.device.graph(call, paced.calls)
        return paced

    def sample(self, paced: Paced) -> None:
        """Take one sample; on the event metrics it stays pending until `collect`."""
        if self.metric in ("gpu_time", "graph_time"):
            self._sample_events(paced)
        else:
            self._sample_host(paced)

    def collect(self) -> None:
        """Synchronize once and append the pending samples; raises what their work raised."""
        pending, self._pending = self._pending, []
        if pending:
            self.device.synchronize()
        for paced, start, end, calls in pending:
            paced.samples_s.append(self.device.elapsed_s(start, end) / calls)

    def _fill_block(self, paced: Paced) -> None:
        self._sample_events(paced)
        self.collect()
        seconds = paced.samples_s.pop()
        if seconds < SHORT_CALL_S:
            paced.calls = math.ceil(BLOCK_S / max(seconds, 1e-6))

    def _sample_events(self, paced: Paced) -> None:
        start, end = self._enqueue(paced)
        while start.query() and not paced.launch_bound:
            _wait_longer(paced)
            if not paced.launch_bound:
                start, end = self._enqueue(paced)
        self._pending.append((paced, start, end, paced.calls))

    def _enqueue(self, paced: Paced) -> tuple[Event, Event]:
        start, end = self.device.event(), self.device.event()
        # A replayed graph already holds all the calls of a sample.
        launches = 1 if self.metric == "graph_time" else paced.calls
        self._flush()
        self.device.spin(paced.spin_cycles)
        start.record()
        for _ in range(launches):
            paced.call()
        end.record()
        return start, end

    def _sample_host(self, paced: Paced) -> None:
        self._flush()
        self.device.synchronize()
        start = self.now()
        paced.call()
        dispatched = self.now()
        self.device.synchronize()
        end = self.now() if self.metric == "latency" else dispatched
        paced.samples_s.append((end - start) / 1e9)

    def _flush(self) -> None:
        if self.cache == "cold":
            self.device.flush_l2()


def _wait_longer(paced: Paced) -> None:
    """Double the spin; past the cap give up, and stop paying for a spin that cannot help."""
    paced.spin_cycles *= 2
    if paced.spin_cycles > LAST_SPIN_CYCLES:
        paced.launch_bound = True
        paced.spin_cycles = FIRST_SPIN_CYCLES


def warm_up_chip(
    device: AcceleratorDevice, seconds: float = 2.0, *, now: Nanoseconds = time.perf_counter_ns
) -> None:
    """Load the chip for that long, once per session: clocks rise within 1 to 2 s of load."""
    end = now() + int(seconds * 1e9)
    while now() < end:
        device.heat()
        device.synchronize()
