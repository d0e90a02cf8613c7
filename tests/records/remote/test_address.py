from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.records.remote.address import copies, is_url, local_folder, remote_url, run_label
from tests.support import ROOT

pytestmark = pytest.mark.usefixtures("environment")


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("s3://bench/results", True),
        ("gs://bench/results", True),
        ("file:///tmp/results", True),
        ("memory://results", True),
        ("results", False),
        ("/tmp/results", False),
        ("s3:results", False),
        (Path("results"), False),
    ],
)
def test_a_url_is_told_from_a_path(text: str | Path, url: bool) -> None:  # noqa: FBT001
    assert is_url(text) is url


def test_a_path_stays_as_it_is() -> None:
    assert local_folder("some/results") == Path("some/results")
    assert local_folder(Path("/some/results")) == Path("/some/results")
    assert remote_url("some/results") is None


def test_a_file_url_is_a_folder_of_this_machine() -> None:
    assert local_folder("file:///some/results/") == Path("/some/results")
    assert remote_url("file:///some/results") is None


def test_a_url_is_staged_in_the_cache(tmp_path: Path) -> None:
    folder = local_folder("s3://bench/results/")
    assert folder.is_relative_to(tmp_path / "cache")
    assert folder == local_folder("S3://bench/results")
    assert folder != local_folder("s3://bench/others")
    assert remote_url("s3://bench/results/") == "s3://bench/results"
    assert not (tmp_path / "cache").exists()


def test_copies_of_two_servers_are_kept_apart(environment: pytest.MonkeyPatch) -> None:
    before = copies("s3://bench/results")
    environment.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9000")
    assert copies("s3://bench/results") != before


def test_the_cache_follows_the_users(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    environment.delenv("ATTN_CACHE")
    environment.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert copies("s3://b/r").parent == tmp_path / "xdg" / "attention-bench"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://x/y", "unknown protocol in 'http://x/y'; valid: s3://, gs://, file://, memory"),
        ("simplecache::s3://b/r", "unknown protocol"),
        ("s3://", "names no folder of runs; valid: e.g. s3://bucket/results"),
        ("s3:///results", "names no folder of runs"),
        ("file://host/results", "valid: e.g. file:///folder"),
        ("s3://bench/../other", "names no folder of runs"),
        ("s3://key:hidden@bench/results", "credentials come from the environment"),
        ("s3://bench/results?token=hidden", "credentials come from the environment"),
        ("s3://bench/results#hidden", "credentials come from the environment"),
        ("s3://bench/*", "may hold none of"),
    ],
)
def test_a_wrong_url_is_one_line_without_secrets(url: str, words: str) -> None:
    for ask in (local_folder, remote_url):
        with pytest.raises(ValueError, match=words.replace("*", r"\*")) as caught:
            ask(url)
        assert "hidden" not in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_name_is_made_unique_only_where_machines_share_a_place() -> None:
    assert run_label("cpu-quick", None) == "cpu-quick"
    names = {run_label("cpu-quick", "s3://b/r") for _ in range(1000)}
    assert len(names) == 1000
    assert all(name.startswith("cpu-quick-") for name in names)


def test_neither_torch_nor_a_driver_is_loaded_before_it_is_needed() -> None:
    code = (
        "import sys, harness.run.publish, harness.records.remote.download;"
        "sys.exit(bool({'torch', 's3fs', 'pandas'} & set(sys.modules)))"
    )
    root = ROOT
    assert subprocess.run([sys.executable, "-c", code], cwd=root).returncode == 0
