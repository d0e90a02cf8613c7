"""Publish: copy a run folder to a URL while it is measured, and never let that end the measuring.

Uploads happen between visits, never during one: an upload would share the cores with a timing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.records.remote.address import checked, connect, plainly, redact
from harness.records.remote.upload import Upload, make_room
from harness.records.store import FACTS

PROBE = ".writable"
# An upload may take this share of a run's time, and a dead store is asked ever more rarely.
UPLOAD_SHARE, LONGEST_WAIT_S = 0.05, 600.0
LAST_WAITS_S = (0.0, 1.0, 4.0)


def check_writable(url: str | None) -> None:
    """Write a small object under the URL; ValueError in one line if that cannot be done.

    Nothing is deleted: who may only write is welcome. None, a folder of this machine, is fine.
    """
    if url is None:
        return
    url = checked(url)
    with plainly(url, "write to"):
        store, root = connect(url)
        make_room(store, root)
        store.pipe_file(f"{root}/{PROBE}", b"attention-bench\n")


def publish(folder: Path, url: str) -> None:
    """Upload a run folder and, if the run is complete, name it as the newest.

    ValueError in one line if the store fails or holds another run of that name.
    """
    Upload(folder, checked(url)).send(last=True)


@dataclass
class Publisher:
    """Upload a run now and then while it is measured; a failure never ends the measuring.

    `tick` between visits uploads at most every `every_s` seconds, `close` once more at the end.
    Without a URL it does nothing.
    """

    folder: Path
    url: str | None
    every_s: float = 30.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    due: float = 0.0
    failures: int = 0
    reason: str = ""

    def __post_init__(self) -> None:
        self.upload = Upload(self.folder, self.url or "")

    def tick(self) -> None:
        """Upload what is new, if it is time."""
        if self.url is not None and self.clock() >= self.due:
            self._try(last=False)

    def close(self) -> str | None:
        """Upload all there is, with a few tries, and say in one line where it is.

        None if there is no URL, or no run: one that could not start leaves no trace.
        """
        if self.url is None or not (self.folder / FACTS).is_file():
            return None
        for wait in LAST_WAITS_S:
            self.sleep(wait)
            if self._try(last=True):
                return f"Uploaded to {redact(self.url)}/{self.folder.name}"
        return f"Not uploaded: {self.reason}; the run is whole in {self.folder}"

    def _try(self, *, last: bool) -> bool:
        began = self.clock()
        try:
            self.upload.send(last=last)
        except Exception as error:
            self.failures, self.reason = self.failures + 1, redact(str(error))
        else:
            self.failures = 0
        wait = min(self.every_s * 2**self.failures, LONGEST_WAIT_S)
        self.due = self.clock() + max(wait, (self.clock() - began) / UPLOAD_SHARE)
        return not self.failures
