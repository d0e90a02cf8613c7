from __future__ import annotations

import sys

import pytest

from harness.records.remote.address import plainly, redact
from harness.records.remote.download import fetch
from harness.run.publish import check_writable


class NoCredentialsError(Exception):
    """As a driver raises it, without its text."""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("pytest --attn-results s3://bench/r -k x", "pytest --attn-results s3://bench/r -k x"),
        ("a s3://key:se/cr+et@bench/r b", "a s3://***@bench/r b"),
        ("--attn-results=s3://k:s@bench/r", "--attn-results=s3://***@bench/r"),
        ("https://h/x?X-Amz-Signature=abc&y=1 z", "https://h/x?*** z"),
        ("s3://bench/r#abc", "s3://bench/r?***"),
        ("me@host and a?b=c", "me@host and a?b=c"),
    ],
)
def test_secrets_of_a_url_are_hidden(text: str, shown: str) -> None:
    assert redact(text) == shown


def test_keys_of_the_environment_are_hidden(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("AWS_SECRET_ACCESS_KEY", "abcdefgh12345")
    environment.setenv("AWS_SESSION_TOKEN", "x")
    assert redact("the key abcdefgh12345 is wrong, x") == "the key *** is wrong, x"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (PermissionError("Forbidden"), "access denied with the credentials of the environment"),
        (NoCredentialsError(), "no credentials: set AWS_ACCESS_KEY_ID"),
        (OSError("first\nsecond"), "first second"),
        (TimeoutError(), "TimeoutError"),
        (RuntimeError("at http://u:hidden@h/x?y=hidden"), r"at http://\*\*\*@h/x\?\*\*\*"),
    ],
)
def test_every_error_is_one_line(error: Exception, words: str) -> None:
    with (
        pytest.raises(ValueError, match=rf"^cannot read s3://b/r: {words}") as caught,
        plainly("s3://b/r", "read"),
    ):
        raise error
    assert "\n" not in str(caught.value)
    assert "hidden" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_missing_package_is_named(environment: pytest.MonkeyPatch) -> None:
    environment.setitem(sys.modules, "gcsfs", None)
    with pytest.raises(ValueError, match=r"^cannot write to gs://b/r: install gcsfs: pip install"):
        check_writable("gs://b/r")
    with pytest.raises(ValueError, match=r"^cannot read gs://b/r: install gcsfs"):
        fetch("gs://b/r")


def test_missing_credentials_and_a_missing_bucket_are_named(
    bucket: str, environment: pytest.MonkeyPatch
) -> None:
    import s3fs

    with pytest.raises(ValueError, match=r"write to s3://no-such/r: .*bucket does not exist"):
        check_writable("s3://no-such/r")
    with pytest.raises(ValueError, match=r"read s3://no-such/r: .*bucket does not exist"):
        fetch("s3://no-such/r")
    environment.delenv("AWS_ACCESS_KEY_ID")
    environment.delenv("AWS_SECRET_ACCESS_KEY")
    s3fs.S3FileSystem.clear_instance_cache()
    with pytest.raises(ValueError, match="no credentials: set AWS_ACCESS_KEY_ID"):
        check_writable(bucket)
    s3fs.S3FileSystem.clear_instance_cache()
