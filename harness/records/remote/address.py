"""Address: where runs lie under a URL, and what a message about it may say."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.records.noise import NOISE
from harness.records.store import (
    CELLS,
    CONFORMANCE,
    FACTS,
    JOURNAL,
    SAMPLES,
    TABLE,
    VERDICTS,
)

PACKAGES = {"s3": "s3fs", "gs": "gcsfs"}
CREDENTIALS = {
    "s3": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
    "gs": "set GOOGLE_APPLICATION_CREDENTIALS, or run: gcloud auth application-default login",
}
SECRETS = (
    "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID",
    "FSSPEC_S3_SECRET", "FSSPEC_S3_TOKEN", "FSSPEC_S3_KEY",
)  # fmt: skip
# Shorter values of a secret would also hide ordinary words.
SHORTEST_SECRET = 8
LONGEST_REASON = 200


def redact(text: str) -> str:
    """Hide what may be secret: user and password of a URL, its query, the environment's keys."""
    text = re.sub(r"(\w://)[^\s'\"]*@", r"\1***@", text)
    text = re.sub(r"(\w://[^\s'\"?#]*)[?#][^\s'\"]*", r"\1?***", text)
    for name in SECRETS:
        value = os.environ.get(name, "")
        if len(value) >= SHORTEST_SECRET:
            text = text.replace(value, "***")
    return text


@contextmanager
def plainly(url: str, doing: str) -> Iterator[None]:
    """Turn whatever a store raises into a ValueError of one line without secrets."""
    try:
        yield
    except Exception as error:
        raise ValueError(f"cannot {doing} {redact(url)}: {reason_of(error, url)}") from None


def reason_of(error: Exception, url: str) -> str:
    """Say in one line what is wrong and, where that is known, what to do about it."""
    protocol = url.partition("://")[0].lower()
    if isinstance(error, ImportError) and protocol in PACKAGES:
        package = PACKAGES[protocol]
        return f"install {package}: pip install {package}"
    if "Credential" in type(error).__name__:
        return f"no credentials: {CREDENTIALS.get(protocol, 'none in the environment')}"
    if isinstance(error, PermissionError):
        return "access denied with the credentials of the environment"
    # `one_line` would cut before secrets are hidden, and half a secret is not found.
    words = " ".join(str(error).split()) or type(error).__name__
    return redact(words)[:LONGEST_REASON]


PROTOCOLS = ("s3", "gs", "file", "memory")
# What a run folder holds. Nothing else is ever fetched, whatever a store may offer.
FILES = (
    JOURNAL, CELLS, TABLE, SAMPLES, CONFORMANCE, VERDICTS, "benchmark.json", NOISE, FACTS,
)  # fmt: skip
RUN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
# The same URL at another server, or read as another user, is another place.
PLACES = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "FSSPEC_S3_ENDPOINT_URL", "AWS_PROFILE")


def is_url(text: str | os.PathLike[str]) -> bool:
    """Tell whether this names a place by URL; a plain path does not."""
    return isinstance(text, str) and "://" in text


def checked(url: str) -> str:
    """Return the URL without its last slash; ValueError in one line if it cannot be one of ours.

    Credentials in it are refused: a command line and a result file are no place for them.
    """
    protocol, _, rest = url.partition("://")
    protocol = protocol.lower()
    if protocol not in PROTOCOLS:
        valid = ", ".join(f"{name}://" for name in PROTOCOLS)
        raise ValueError(f"unknown protocol in {redact(url)!r}; valid: {valid}, or a path")
    if re.search(r"[@?#*\s\[\]]", rest):
        raise ValueError(
            f"{redact(url)!r} may hold none of @ ? # * [ ] or spaces; credentials come from the"
            " environment, e.g. AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        )
    if not rest.strip("/") or ".." in rest.split("/") or (protocol, rest[:1] == "/") in NO_FOLDER:
        valid = "file:///folder" if protocol == "file" else f"{protocol}://bucket/results"
        raise ValueError(f"{redact(url)!r} names no folder of runs; valid: e.g. {valid}")
    return f"{protocol}://{rest.rstrip('/')}"


# (protocol, whether a slash follows): s3:///x has no bucket, file://x a host.
NO_FOLDER = {("s3", True), ("gs", True), ("file", False)}


def remote_url(results: str | os.PathLike[str]) -> str | None:
    """Return the URL to copy runs to, or None where the runs lie in a folder of this machine."""
    if not is_url(results):
        return None
    url = checked(str(results))
    return None if url.startswith("file://") else url


def local_folder(results: str | os.PathLike[str]) -> Path:
    """Return the folder that runs are written to: for a URL, a staging folder of its own."""
    if not is_url(results):
        return Path(results)
    url = checked(str(results))
    return Path(url[7:]) if url.startswith("file://") else copies(url) / "written"


def copies(url: str) -> Path:
    """Return where this machine keeps its copies of what lies under a URL.

    It is ATTN_CACHE, else the user's cache folder, and a name made of the URL and its server.
    """
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    cache = Path(os.environ.get("ATTN_CACHE") or Path(home) / "attention-bench")
    url = checked(url)
    place = "\n".join([url, *(redact(os.environ.get(name, "")) for name in PLACES)])
    bucket = re.sub(r"[^a-z0-9-]+", "-", url.split("://")[1].strip("/").split("/")[0].lower())
    return cache / f"{bucket[:40]}-{hashlib.sha256(place.encode()).hexdigest()[:16]}"


def run_label(label: str, url: str | None) -> str:
    """Return a label that no other machine gives at the same second, where runs go to a URL."""
    return label if url is None else f"{label}-{secrets.token_hex(4)}"


def connect(url: str) -> tuple[Any, str]:
    """Return the file system of a URL and the path in it; its package is loaded only here.

    Listings are not remembered: other machines write to the same place.
    """
    import fsspec

    url = checked(url)
    protocol = url.split("://")[0]
    options: dict[str, Any] = {}
    if protocol == "s3":
        # s3fs tries each request 5 times of its own; botocore's 5 on top would make it 25, and
        # a dead server would hold up the measuring for minutes.
        own = fsspec.config.conf.get("s3", {}).get("config_kwargs", {})
        options["config_kwargs"] = {"retries": {"max_attempts": 0}} | own
    store = fsspec.filesystem(protocol, use_listings_cache=False, **options)
    return store, store._strip_protocol(url).rstrip("/")
