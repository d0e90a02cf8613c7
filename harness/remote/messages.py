"""Messages: what a store's errors come to in one line, and what no message may hold."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

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
    words = " ".join(str(error).split()) or type(error).__name__
    return redact(words)[:LONGEST_REASON]
