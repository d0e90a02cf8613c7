"""A URL given at the doors: a real run into a real S3 server, and the commands that read it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from harness.__main__ import app
from harness.run.publish import publish
from harness.run.settings import resolve
from tests.support.remote_runs import KEY, SECRET, finished
from tests.support.run_suite import run


def measured(folder: Path, url: str) -> subprocess.CompletedProcess[str]:
    """Run the two unmasked cells of TINY in the process that uploads them."""
    words = ("--attn-backends", "naive", "--attn-pool", "inline", "-k", "fwd and full")
    return run(folder, *words, "--attn-results", url)


def shown(*words: str) -> list[dict[str, Any]]:
    done = CliRunner().invoke(app, ["show", *words, "--json"], catch_exceptions=False)
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


def test_a_run_goes_to_a_url_and_comes_back(bucket: str, store: Any, tmp_path: Path) -> None:
    done = measured(tmp_path, bucket)
    assert done.returncode == 0, done.stdout + done.stderr
    name = store.cat_file(f"{bucket}/LATEST").decode().strip()
    assert f"Uploaded to {bucket}/{name}" in done.stdout
    held = {Path(path).name for path in store.find(f"{bucket}/{name}")}
    assert held >= {"run.json", "journal.jsonl", "cells.parquet", "verdicts.json"}
    assert [row["length_query"] for row in shown("--results", bucket)] == [16, 32]
    kept = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    said = [text.encode() for text in (done.stdout, done.stderr)]
    for secret in (KEY.encode(), SECRET.encode()):
        assert not any(secret in one for one in kept + said)


def test_a_bucket_that_is_not_there_ends_it_before_it_begins(bucket: str, tmp_path: Path) -> None:
    done = measured(tmp_path, "s3://no-such-bucket/results")
    assert done.returncode == 4
    assert "write to s3://no-such-bucket/results: The specified bucket" in done.stderr
    assert not list(tmp_path.rglob("run.json"))


def test_a_run_is_named_by_its_url(bucket: str, tmp_path: Path) -> None:
    publish(finished(tmp_path / "run-1"), bucket)
    assert len(shown(f"{bucket}/run-1")) == len(shown("run-1", "--results", bucket)) == 2
    with pytest.raises(ValueError, match=r"no run 'x'; valid: run-1$"):
        shown("x", "--results", bucket)


def test_credentials_in_a_url_are_refused_and_not_said() -> None:
    with pytest.raises(ValueError, match=r"s3://\*\*\*@bucket/results") as caught:
        resolve({"device": "cpu", "results": "s3://someone:hidden@bucket/results"})
    assert "hidden" not in str(caught.value)
