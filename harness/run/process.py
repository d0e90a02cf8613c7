"""WorkerProcess: one worker seen from the parent: start it, ask it, notice that it is lost."""

from __future__ import annotations

import json
import os
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil

from harness.measure.protocol import SETUP, STARTING, Heartbeat, WorkerSpec, worker_environment
from harness.records.record import Status

POLL_S = 0.2
STACK_S = 0.3
# Loading torch and its libraries takes 2 s on an idle machine, and far longer from a cold disk.
START_S = 180.0
# A worker holds torch and its libraries beside the tensors it was given leave for.
PROGRAM_BYTES = 2_000_000_000


class WorkerLost(Exception):
    """Say that a worker died or hung: how, why, and which backend was at work (-1: none)."""

    def __init__(self, status: Status, reason: str, index: int) -> None:
        super().__init__(reason)
        self.status, self.reason, self.index = status, reason, index


class WorkerProcess:
    """Own one worker process. A lost worker raises WorkerLost once; `restart` replaces it."""

    def __init__(self, spec: WorkerSpec, *, timeout_s: float) -> None:
        self.spec = spec
        self.timeout_s = timeout_s
        self._folder = tempfile.TemporaryDirectory(prefix="attention-worker-")
        self._log = Path(self._folder.name) / "output.log"
        self.start()

    def start(self) -> None:
        """Start the process; torch loads in the background while this returns."""
        folder = Path(self._folder.name)
        heartbeat = folder / "heartbeat"
        heartbeat.unlink(missing_ok=True)
        self.heartbeat = Heartbeat(heartbeat)
        self.heartbeat.mark(STARTING)
        self._answers, answers = os.pipe()
        self._buffer = b""
        # -P: a file called torch.py in the user's folder must not be taken for torch.
        command = [sys.executable, "-P", "-X", "faulthandler", "-m", "harness.measure.worker"]
        command += [json.dumps(asdict(self.spec)), str(answers), str(heartbeat), str(os.getpid())]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                pass_fds=(answers,),
                env=worker_environment(self.spec, os.environ),
                process_group=0,
            )
        os.close(answers)

    def restart(self) -> None:
        """Replace the process."""
        self.kill()
        self.start()

    def ask(self, order: dict[str, Any]) -> dict[str, Any]:
        """Send an order and wait for its answer; WorkerLost if the worker dies or hangs."""
        assert self.process.stdin is not None
        if self.heartbeat.read()[0] != STARTING:
            self.heartbeat.mark(SETUP)
        try:
            self.process.stdin.write(json.dumps(order).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            raise self._lost() from None
        answer: dict[str, Any] = json.loads(self._read_line())
        return answer

    def _read_line(self) -> bytes:
        with selectors.DefaultSelector() as selector:
            selector.register(self._answers, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                if selector.select(POLL_S):
                    chunk = os.read(self._answers, 1 << 20)
                    if not chunk:
                        raise self._lost()
                    self._buffer += chunk
                else:
                    self._watch()
        line, self._buffer = self._buffer.split(b"\n", 1)
        os.truncate(self._log, 0)
        return line

    def _watch(self) -> None:
        """Kill a worker that hangs or outgrows its memory, and say so."""
        index, elapsed = self.heartbeat.read()
        allowed = START_S if index == STARTING else self.timeout_s
        if elapsed > allowed:
            where = self._where_it_hangs()
            self.kill()
            raise WorkerLost(Status.TIMED_OUT, f"no answer within {allowed:g} s{where}", index)
        limit = self.spec.memory_guard
        used = self._resident()
        if limit is not None and used > limit + PROGRAM_BYTES:
            self.kill()
            reason = f"took {used:,} bytes, more than the limit of {limit:,}"
            raise WorkerLost(Status.OUT_OF_MEMORY, reason, index)

    def _resident(self) -> int:
        try:
            return int(psutil.Process(self.process.pid).memory_info().rss)
        except psutil.Error:
            return 0

    def _lost(self) -> WorkerLost:
        """Explain a death from the exit code and the last words of the worker."""
        index, _ = self.heartbeat.read()
        code = self.process.wait()
        how = f"exited with code {code}"
        if code < 0:
            how = f"was killed by {signal.Signals(-code).name}"
        words = "" if code < 0 else self._last_words()
        return WorkerLost(Status.CRASHED, f"the worker {how}{words}", index)

    def _where_it_hangs(self) -> str:
        """Ask the worker for its stack; faulthandler answers even while C code never returns."""
        os.truncate(self._log, 0)
        with suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGUSR1)
        time.sleep(STACK_S)
        frames = re.findall(
            r'File "(.+)", line (\d+) in (\w+)', self._log.read_text(errors="replace")
        )
        if not frames:
            return ""
        path, line, function = frames[0]
        return f", stuck in {function} ({Path(path).name}, line {line})"

    def _last_words(self) -> str:
        lines = self._log.read_bytes()[-2000:].decode(errors="replace").split("\n")
        words = [line.strip() for line in lines if line.strip()]
        return f": {words[-1][:160]}" if words else ""

    def kill(self) -> None:
        """End the process and its children now; nothing is left behind."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        if self.process.stdin is not None:
            with suppress(OSError):
                self.process.stdin.close()
        if self._answers >= 0:
            os.close(self._answers)
            self._answers = -1

    def close(self) -> None:
        """End the process and remove its files."""
        self.kill()
        self._folder.cleanup()
