"""A real S3 server on this machine, and places of its own for every test."""

from __future__ import annotations

import itertools
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from moto.server import ThreadedMotoServer

from tests.support.remote_runs import KEY, SECRET

NUMBERS = itertools.count()


class Requests(logging.Handler):
    """Keep the method and path of every request that the server has answered."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())

    def count(self, method: str) -> int:
        return sum(f"{method} /" in line for line in self.lines)


@pytest.fixture(scope="session")
def server() -> Iterator[ThreadedMotoServer]:
    running = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    running.start()
    yield running
    running.stop()


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Keep the copies in the test's folder, and the user's own credentials out of it."""
    for name in [name for name in os.environ if name.startswith(("AWS_", "FSSPEC_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ATTN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    return monkeypatch


@pytest.fixture
def bucket(server: ThreadedMotoServer, environment: pytest.MonkeyPatch) -> str:
    """Make a bucket and set the credentials; return a URL in it."""
    environment.setenv("AWS_ACCESS_KEY_ID", KEY)
    environment.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    environment.setenv("AWS_DEFAULT_REGION", "us-east-1")
    environment.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.get_host_and_port()[1]}")
    name = f"bench-{next(NUMBERS)}"
    fsspec.filesystem("s3").mkdir(name)
    return f"s3://{name}/some/results"


@pytest.fixture
def store(bucket: str) -> Any:
    """The store behind the bucket, to look into and to plant faults."""
    return fsspec.filesystem("s3", use_listings_cache=False)


@pytest.fixture
def requests() -> Iterator[Requests]:
    logger, handler = logging.getLogger("werkzeug"), Requests()
    before = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(before)
