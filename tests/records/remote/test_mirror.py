from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from moto.backends import get_backend
from moto.core import DEFAULT_ACCOUNT_ID

from harness.records.remote.download import fetch, fetch_all
from harness.records.store import find_run, load_run
from harness.records.writer import write_json
from harness.run.publish import Publisher, publish
from tests.support.remote_runs import finished, measure, sketched, start


def facts(name: str) -> bytes:
    return json.dumps({"schema": 1, "run": name, "complete": True}).encode()


def put(store: Any, url: str, files: dict[str, bytes]) -> None:
    root = url.removeprefix("s3://")
    store.pipe({f"{root}/{name}": content for name, content in files.items()})


def plant(url: str, key: str, content: bytes) -> None:
    """Put an object behind the server's back: any key at all, and 900 of them in no time."""
    name, _, prefix = url.removeprefix("s3://").partition("/")
    get_backend("s3")[DEFAULT_ACCOUNT_ID]["aws"].put_object(name, f"{prefix}/{key}", content)


def runs(folder: Path) -> list[str]:
    return sorted(path.parent.name for path in folder.glob("*/run.json"))


def test_three_hundred_runs_are_fetched_once(bucket: str, store: Any, requests: Any) -> None:
    names = [f"run-{number:03}" for number in range(300)]
    for name in names:
        plant(bucket, f"{name}/run.json", facts(name))
        plant(bucket, f"{name}/cells.parquet", b"table")
        plant(bucket, f"{name}/journal.jsonl", b"not needed")
    put(store, bucket, {"LATEST": b"run-007\n"})
    requests.lines.clear()
    folder = fetch_all(bucket)
    assert runs(folder) == names
    assert (folder / "LATEST").read_text() == "run-007\n"
    assert requests.count("GET") == 600 + 1 + 1  # the files, one listing, LATEST
    assert requests.count("HEAD") <= 1  # s3fs asks for the size of LATEST
    requests.lines.clear()
    fetch_all(bucket)
    assert requests.count("GET") == 2
    put(store, bucket, {"run-042/cells.parquet": b"longer table"})
    requests.lines.clear()
    fetch_all(bucket)
    assert requests.count("GET") == 3
    assert (folder / "run-042" / "cells.parquet").read_bytes() == b"longer table"


def test_poisoned_names_write_nothing_outside(bucket: str, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    publish(finished(tmp_path / "mine" / "run-1"), bucket)
    bad = [
        "../../../evil/run.json", "run-1/../../../evil.json", "..%2f..%2fevil/run.json",
        "/etc/run.json", ".hidden/run.json", "run-1/.bashrc", "run-1/evil.py",
        "run-1/sub/run.json", "LATEST/run.json", "latest/cells.csv", "a b/run.json",
        "-rf/run.json", "x" * 300 + "/run.json", "run\\..\\evil/run.json", "run-1/cells.csv/x",
    ]  # fmt: skip
    for name in bad:
        plant(bucket, name, b"evil")
    for fetched in (fetch(bucket, "run-1").parent, fetch_all(bucket)):
        assert runs(fetched) == ["run-1"]
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(b"evil" in path.read_bytes() or "evil" in str(path) for path in written)
    assert {path.name for path in (tmp_path).iterdir()} == {"cache", "mine"}


@pytest.mark.parametrize("latest", ["../../evil", "gone", "", "run-2\nrun-1", "\x00", "cut"])
def test_a_wrong_latest_is_not_followed(bucket: str, store: Any, latest: str) -> None:
    put(store, bucket, {"run-1/run.json": facts("run-1"), "run-1/cells.csv": b"cell\n"})
    put(store, bucket, {"cut/run.json": facts("cut"), "LATEST": latest.encode()})
    assert fetch(bucket).name == "run-1"
    assert find_run(fetch_all(bucket)).name == "run-1"


def test_an_a_a_run_is_never_the_newest(bucket: str, tmp_path: Path) -> None:
    noise = sketched(tmp_path / "run-2")
    (noise / "noise.csv").write_text("cell\n")
    write_json(noise / "run.json", {"schema": 1, "complete": True, "kind": "noise"})
    publish(sketched(tmp_path / "run-1"), bucket)
    publish(noise, bucket)
    assert fetch(bucket).name == "run-1"
    assert runs(fetch_all(bucket)) == ["run-1", "run-2"]
    assert (fetch_all(bucket) / "run-2" / "noise.csv").read_text() == "cell\n"


def test_a_cut_upload_is_left_out_and_named(bucket: str, store: Any, tmp_path: Path) -> None:
    publish(finished(tmp_path / "run-1"), bucket)
    put(store, bucket, {"run-2/run.json": facts("run-2"), "run-2/conformance.csv": b""})
    assert runs(fetch_all(bucket)) == ["run-1"]
    with pytest.raises(ValueError, match=r"run 'run-2' has no cells yet.*valid: run-1$"):
        fetch(bucket, "run-2")


def test_a_run_under_way_comes_with_its_journal(bucket: str, tmp_path: Path) -> None:
    writer = start(tmp_path / "run-1")
    publisher = Publisher(writer.folder, bucket)
    measure(writer, 8)
    publisher.tick()
    assert len(load_run(find_run(fetch_all(bucket), "run-1")).table) == 1
    measure(writer, 16)
    writer.finish(complete=True)
    publisher.close()
    folder = find_run(fetch_all(bucket), "run-1")
    assert {path.name for path in folder.iterdir()} == {"run.json", "cells.parquet"}
    assert len(load_run(fetch(bucket)).table) == 2


def test_unknown_runs_list_the_valid_ones(bucket: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"^cannot read {bucket}: no run there$"):
        fetch(bucket)
    assert runs(fetch_all(bucket)) == []
    publish(sketched(tmp_path / "run-1"), bucket)
    for name in ("x", "../run-1", "", "run-1/../run-1"):
        with pytest.raises(ValueError, match=r"no run .*; valid: run-1$"):
            fetch(bucket, name)


def test_a_run_that_is_gone_goes_here_too(bucket: str, store: Any, tmp_path: Path) -> None:
    for name in ("run-1", "run-2"):
        publish(sketched(tmp_path / name), bucket)
    assert runs(fetch_all(bucket)) == ["run-1", "run-2"]
    store.rm(f"{bucket}/run-2", recursive=True)
    folder = fetch_all(bucket)
    assert runs(folder) == ["run-1"]
    assert (folder / "LATEST").read_text() == "run-1\n"
    assert (tmp_path / "run-2" / "run.json").is_file()


def test_a_damaged_copy_is_mended(bucket: str, tmp_path: Path) -> None:
    publish(sketched(tmp_path / "run-1", "cell whole"), bucket)
    copy = fetch(bucket) / "cells.csv"
    copy.write_text("cell h")
    assert (fetch(bucket) / "cells.csv").read_text() == "cell whole"


def test_readers_side_by_side_see_whole_files(bucket: str, tmp_path: Path) -> None:
    publish(sketched(tmp_path / "run-1", "cell\n" * 100_000), bucket)
    failures: list[str] = []

    def read() -> None:
        for _ in range(3):
            size = (fetch(bucket, "run-1") / "cells.csv").stat().st_size
            failures.extend([str(size)] if size != 500_000 else [])

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert failures == []


def test_nothing_that_was_fetched_is_run(bucket: str, store: Any, tmp_path: Path) -> None:
    trap = b"cos\nsystem\n(S'touch " + str(tmp_path / "ran").encode() + b"'\ntR."
    put(store, bucket, {"run-1/run.json": facts("run-1"), "run-1/cells.csv": trap})
    put(store, bucket, {"run-1/cells.parquet": trap, "run-1/conftest.py": b"raise SystemExit"})
    folder = fetch(bucket)
    with pytest.raises(ValueError, match=r"cells.csv"):
        load_run(folder)
    assert not (folder / "conftest.py").exists()
    assert not (tmp_path / "ran").exists()
