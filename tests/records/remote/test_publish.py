from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import fsspec
import pytest
from moto.server import ThreadedMotoServer

from harness.records.remote.download import fetch, fetch_all
from harness.records.store import load_run
from harness.run.publish import Publisher, check_writable, publish
from tests.support import ROOT
from tests.support.remote_runs import KEY, SECRET, finished, measure, sketched, start

WRITER = """
import sys
from pathlib import Path
sys.path[:0] = [{tests!r}]
from tests.support.remote_runs import sketched
from harness.records.remote.address import run_label
from harness.run.publish import Publisher
for number in range(5):
    folder = Path({staging!r}) / run_label("20260101-000000-cpu", {url!r})
    publisher = Publisher(sketched(folder, complete=False), {url!r}, every_s=0.0)
    publisher.tick()
    sketched(folder, text="cell " + folder.name)
    print(publisher.close())
"""


def names(store: Any, url: str) -> set[str]:
    root = url.removeprefix("s3://")
    return {path.removeprefix(f"{root}/") for path in store.find(root)}


def text(store: Any, url: str) -> str:
    return store.cat_file(url).decode()


def test_a_run_is_read_back_as_it_was_written(bucket: str, store: Any, tmp_path: Path) -> None:
    import pandas as pd

    folder = finished(tmp_path / "results" / "run-1")
    publish(folder, bucket)
    assert text(store, f"{bucket}/LATEST") == "run-1\n"
    copy = fetch(bucket)
    assert copy != folder
    ours, theirs = load_run(folder), load_run(copy)
    pd.testing.assert_frame_equal(ours.table, theirs.table)
    pd.testing.assert_frame_equal(ours.samples, theirs.samples)
    assert theirs.facts == ours.facts


@pytest.mark.parametrize("place", ["memory://attention-bench/results", "file://{}/shared"])
def test_other_stores_go_the_same_way(
    place: str, tmp_path: Path, environment: pytest.MonkeyPatch
) -> None:
    url = place.format(tmp_path)
    check_writable(url)
    first, second = (finished(tmp_path / "results" / f"run-{n}", 8 * n) for n in (1, 2))
    (first / "profiles").mkdir()
    (first / "profiles" / "naive.txt").write_text("a profile")
    publish(first, url)
    publish(second, url)
    assert load_run(fetch(url)).table["length_query"].tolist() == [16]
    assert load_run(fetch(url, "run-1")).table["length_query"].tolist() == [8]
    assert sorted(path.parent.name for path in fetch_all(url).glob("*/run.json")) == [
        "run-1", "run-2",
    ]  # fmt: skip
    other = finished(tmp_path / "elsewhere" / "run-1", 32)
    with pytest.raises(ValueError, match="another run has the name run-1"):
        publish(other, url)


def test_a_run_can_be_read_while_it_is_measured(bucket: str, store: Any, tmp_path: Path) -> None:
    now = [0.0]
    writer = start(tmp_path / "run-1")
    publisher = Publisher(writer.folder, bucket, every_s=30.0, clock=lambda: now[0])
    for length in (8, 16, 32):
        measure(writer, length)
        publisher.tick()
    assert len(load_run(fetch(bucket, "run-1")).table) == 1
    now[0] = 30.0
    publisher.tick()
    assert len(load_run(fetch(bucket)).table) == 3
    assert "LATEST" not in names(store, bucket)
    writer.finish(complete=True)
    line = publisher.close()
    assert line == f"Uploaded to {bucket}/run-1"
    assert text(store, f"{bucket}/LATEST") == "run-1\n"


def test_only_what_changed_is_uploaded(bucket: str, tmp_path: Path, requests: Any) -> None:
    publisher = Publisher(finished(tmp_path / "run-1"), bucket)
    publisher.close()
    before = requests.count("PUT")
    publisher.close()
    assert requests.count("PUT") == before + 1  # LATEST


def test_a_run_cut_short_is_not_the_newest(bucket: str, store: Any, tmp_path: Path) -> None:
    publish(finished(tmp_path / "run-1"), bucket)
    publish(sketched(tmp_path / "run-2", complete=False), bucket)
    assert text(store, f"{bucket}/LATEST") == "run-1\n"
    assert fetch(bucket, "run-2").name == "run-2"


def test_a_taken_name_is_never_filled_by_another_run(
    bucket: str, store: Any, tmp_path: Path
) -> None:
    first = sketched(tmp_path / "one" / "run-1", "cell first")
    other = sketched(tmp_path / "two" / "run-1", "cell other")
    publish(first, bucket)
    with pytest.raises(ValueError, match="another run has the name run-1"):
        publish(other, bucket)
    assert text(store, f"{bucket}/run-1/cells.csv") == "cell first"
    publish(sketched(first, "cell again"), bucket)
    assert text(store, f"{bucket}/run-1/cells.csv") == "cell again"


def test_a_server_without_conditions_is_asked_first(
    tmp_path: Path, environment: pytest.MonkeyPatch
) -> None:
    url = "memory://without-conditions/results"
    kind = fsspec.get_filesystem_class("memory")
    plain = kind.pipe_file

    def pipe_file(self: Any, path: str, value: bytes, mode: str = "overwrite") -> None:
        if mode == "create":
            raise OSError(5, "A header you provided is not implemented")
        plain(self, path, value)

    environment.setattr(kind, "pipe_file", pipe_file)
    publish(sketched(tmp_path / "one" / "run-1"), url)
    publish(tmp_path / "one" / "run-1", url)
    with pytest.raises(ValueError, match="another run has the name run-1"):
        publish(sketched(tmp_path / "two" / "run-1"), url)


def test_concurrent_writers_lose_and_mix_nothing(bucket: str, store: Any, tmp_path: Path) -> None:
    tests = str(ROOT)
    writers = [
        subprocess.Popen(
            [
                sys.executable, "-W", "error", "-c",
                WRITER.format(tests=tests, staging=str(tmp_path / f"host-{n}"), url=bucket),
            ],
            cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        for n in range(4)
    ]  # fmt: skip
    said = [writer.communicate(timeout=60)[0] for writer in writers]
    lines = [line for text in said for line in text.splitlines()]
    assert len(lines) == 20, said
    assert all(line.startswith(f"Uploaded to {bucket}/") for line in lines), said
    folder = fetch_all(bucket)
    runs = sorted(path.parent for path in folder.glob("*/run.json"))
    assert {f"Uploaded to {bucket}/{run.name}" for run in runs} == set(lines)
    assert all((run / "cells.csv").read_text() == f"cell {run.name}" for run in runs)
    assert text(store, f"{bucket}/LATEST").strip() in {run.name for run in runs}


def test_a_dead_server_never_ends_the_measuring(
    bucket: str, store: Any, server: ThreadedMotoServer, tmp_path: Path
) -> None:
    now, naps = [0.0], []
    writer = start(tmp_path / "run-1")
    publisher = Publisher(
        writer.folder, bucket, every_s=1.0, clock=lambda: now[0], sleep=naps.append
    )
    measure(writer, 8)
    publisher.tick()
    server._port = server.get_host_and_port()[1]
    server.stop()
    try:
        tried = []
        for length in range(16, 400, 16):
            measure(writer, length)
            now[0] += 1.0
            before = publisher.failures
            publisher.tick()
            tried += [now[0]] if publisher.failures > before else []
        writer.finish(complete=True)
        line = publisher.close()
    finally:
        server.start()
    assert tried == [1.0, 3.0, 7.0, 15.0]
    assert naps == [0.0, 1.0, 4.0]
    assert line is not None
    assert line.startswith(f"Not uploaded: cannot write to {bucket}: Could not connect")
    assert line.endswith(f"the run is whole in {writer.folder}")
    assert "\n" not in line
    assert len(load_run(writer.folder).table) == 25
    assert len(load_run(fetch(bucket, "run-1")).table) == 1
    assert publisher.close() == f"Uploaded to {bucket}/run-1"
    assert len(load_run(fetch(bucket)).table) == 25


def test_a_slow_store_is_asked_more_rarely(tmp_path: Path, environment: Any) -> None:
    readings = iter([0.0, 0.0, 10.0, 10.0, 10.0, 199.0, 200.0])
    folder = sketched(tmp_path / "run-1")
    publisher = Publisher(folder, "memory://slow/results", clock=lambda: next(readings))
    publisher.tick()
    assert publisher.due == 210.0


def test_no_url_means_nothing_to_do(tmp_path: Path) -> None:
    publisher = Publisher(tmp_path / "not-even-there", None)
    publisher.tick()
    assert publisher.close() is None
    check_writable(None)


def test_a_run_that_could_not_start_leaves_no_trace(
    bucket: str, store: Any, tmp_path: Path
) -> None:
    assert Publisher(tmp_path / "discarded", bucket).close() is None
    assert names(store, bucket) == set()


def test_what_is_no_run_is_refused(bucket: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"is not a run: it has no run\.json"):
        publish(tmp_path, bucket)


def test_links_and_hidden_files_stay_at_home(bucket: str, store: Any, tmp_path: Path) -> None:
    folder = sketched(tmp_path / "run-1")
    (tmp_path / "private").write_text("private")
    (folder / "benchmark.json").symlink_to(tmp_path / "private")
    (folder / ".run.json.12").write_text("half")
    publish(folder, bucket)
    assert names(store, bucket) == {
        "LATEST", "run-1/.claim", "run-1/cells.csv", "run-1/run.json",
    }  # fmt: skip


def test_credentials_reach_no_file_and_no_message(
    bucket: str, store: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    check_writable(bucket)
    publish(finished(tmp_path / "run-1"), bucket)
    fetch(bucket)
    fetch_all(bucket)
    held = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    held += [str(path).encode() for path in tmp_path.rglob("*")]
    held += fsspec.filesystem("s3").cat(list(store.find(bucket))).values()
    held += [part.encode() for part in capfd.readouterr()]
    assert len(held) > 20
    for secret in (KEY.encode(), SECRET.encode()):
        assert not any(secret in one for one in held)
    shutil.rmtree(tmp_path / "cache")
