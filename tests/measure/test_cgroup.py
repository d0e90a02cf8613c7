from pathlib import Path

from harness.measure.host_memory import Limit, memory_limit


def write(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text + "\n")


def joined(tmp_path: Path, line: str) -> Path:
    file = tmp_path / "membership"
    file.write_text(line + "\n")
    return file


def test_version_two_counts_cached_files_as_free(tmp_path: Path) -> None:
    write(
        tmp_path / "a/b",
        memory__max="1000",
        memory__current="900",
        memory__stat="inactive_file 300",
    )
    assert memory_limit(tmp_path, joined(tmp_path, "0::/a/b")) == Limit(1000, 400)


def test_the_tightest_parent_wins(tmp_path: Path) -> None:
    write(tmp_path / "a/b", memory__max="max", memory__current="10")
    write(tmp_path / "a", memory__max="500", memory__current="450")
    write(tmp_path, memory__max="9000", memory__current="450")
    assert memory_limit(tmp_path, joined(tmp_path, "0::/a/b")) == Limit(500, 50)


def test_version_one(tmp_path: Path) -> None:
    write(
        tmp_path / "memory/job",
        memory__limit_in_bytes="1000",
        memory__usage_in_bytes="1200",
        memory__stat="total_inactive_file 100",
    )
    line = "4:memory:/job\n3:cpu,cpuacct:/other"
    assert memory_limit(tmp_path, joined(tmp_path, line)) == Limit(1000, 0)


def test_inside_a_container_the_root_is_read(tmp_path: Path) -> None:
    write(tmp_path, memory__max="1000", memory__current="100")
    assert memory_limit(tmp_path, joined(tmp_path, "0::/docker/host/path")) == Limit(1000, 900)


def test_no_limit_and_no_group(tmp_path: Path) -> None:
    write(
        tmp_path / "memory",
        memory__limit_in_bytes="9223372036854771712",
        memory__usage_in_bytes="5",
    )
    assert memory_limit(tmp_path, joined(tmp_path, "4:memory:/")) is None
    assert memory_limit(tmp_path, tmp_path / "absent") is None
