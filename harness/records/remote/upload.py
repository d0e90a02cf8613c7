"""Upload: a run folder on its way to a URL: its name taken, its files, the newest run's name.

It is no `fsspec.generic.rsync`: readers take a run for whole by its last file, so order counts.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.records.noise import MEASUREMENT
from harness.records.remote.address import FILES, RUN_NAME, connect, plainly
from harness.records.store import FACTS, LATEST
from harness.records.writer import write_text

CLAIM = ".claim"


@dataclass
class Upload:
    """Know what of a run folder has been uploaded, and upload the rest."""

    folder: Path
    url: str
    sent: dict[str, tuple[int, int]] = field(default_factory=dict)
    claimed: bool = False

    def send(self, *, last: bool = False) -> None:
        """Upload every file that changed, run.json after all others, LATEST after run.json."""
        if not RUN_NAME.fullmatch(self.folder.name) or not (self.folder / FACTS).is_file():
            raise ValueError(f"{self.folder} is not a run: it has no {FACTS} or a strange name")
        with plainly(self.url, "write to"):
            store, root = connect(self.url)
            target = f"{root}/{self.folder.name}"
            if not self.claimed:
                self._claim(store, target)
            for path in self._files():
                self._put(store, path, target)
            if last and may_be_newest(self.folder):
                store.pipe_file(f"{root}/{LATEST}", f"{self.folder.name}\n".encode())

    def _claim(self, store: Any, target: str) -> None:
        """Take the name for this run, once: no two writers may ever fill one folder.

        A repeated request finds its own mark and goes on. filelock knows no object stores.
        """
        mine = self.folder / CLAIM
        if not mine.is_file():
            write_text(mine, secrets.token_hex(16) + "\n")
        make_room(store, target)
        try:
            create(store, f"{target}/{CLAIM}", mine.read_bytes())
        except FileExistsError:
            if store.cat_file(f"{target}/{CLAIM}") != mine.read_bytes():
                raise ValueError(f"another run has the name {self.folder.name}") from None
        self.claimed = True

    def _files(self) -> list[Path]:
        """List the files of the run: those a reader needs last come last."""
        order = {name: place for place, name in enumerate(FILES)}
        found = [
            path
            for path in self.folder.rglob("*")
            if path.is_file() and not path.is_symlink() and not path.name.startswith(".")
        ]
        return sorted(found, key=lambda path: (order.get(path.name, -1), str(path)))

    def _put(self, store: Any, path: Path, target: str) -> None:
        """Upload one file unless it is as it was when it was last uploaded."""
        name, state = path.relative_to(self.folder).as_posix(), path.stat()
        mark = (state.st_mtime_ns, state.st_size)
        if self.sent.get(name) != mark:
            make_room(store, f"{target}/{name}".rpartition("/")[0])
            store.put_file(str(path), f"{target}/{name}")
            self.sent[name] = mark


def create(store: Any, path: str, content: bytes) -> None:
    """Write an object that must not be there; FileExistsError if it is.

    A server that knows no such condition is asked first: weaker, but names are random as well.
    """
    try:
        store.pipe_file(path, content, mode="create")
    except OSError as error:
        if "not implemented" not in str(error):
            raise
        if store.exists(path):
            raise FileExistsError(path) from None
        store.pipe_file(path, content)


def make_room(store: Any, folder: str) -> None:
    """Make a folder where the store has folders; elsewhere this might make a new bucket."""
    if "file" in store.protocol or "memory" in store.protocol:
        store.makedirs(folder, exist_ok=True)


def may_be_newest(folder: Path) -> bool:
    """Tell whether a run says of itself that every pass ended, and that it is no A/A run."""
    facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
    return bool(facts.get("complete")) and facts.get("kind", MEASUREMENT) == MEASUREMENT
