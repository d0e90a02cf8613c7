import csv
import json
from pathlib import Path

import pandas as pd
import pytest

from harness.cases.case import Case, cell_name
from harness.records.record import COLUMNS, Record, Status
from harness.records.store import find_run, load_run, read_csv
from harness.records.writer import RunWriter, new_folder, write_json


def record(length: int, **fields: object) -> Record:
    case = Case.square(length)
    cell = cell_name("naive", case)
    values = {"cell": cell, "backend": "naive", "status": "ok", "suite": "length"}
    return Record(**case.as_dict() | values | fields)  # type: ignore[arg-type]


def written(results: Path, *, finish: bool = True) -> RunWriter:
    writer = RunWriter(new_folder(results, "cpu-smoke"), {"device": "cpu"})
    ok = record(
        8, time_median_s=1.25e-5, replica_medians_s=(1.2e-5, 1.3e-5), agrees=True, samples=4,
        peak_bytes=2**40 + 1,
    )  # fmt: skip
    writer.append(ok, [[1.2e-5, 1.2e-5], [1.3e-5, 1.3e-5]])
    writer.announce()
    writer.append(record(16, status=Status.CRASHED.value, reason='the "worker", was killed'), [])
    if finish:
        writer.finish(complete=True)
    return writer


def test_a_run_reads_back_as_it_was_written(tmp_path: Path) -> None:
    writer = written(tmp_path)
    run = load_run(writer.folder)
    assert run.facts["device"] == "cpu"
    assert list(run.table.columns) == list(COLUMNS)
    first, second = run.table.to_dict("records")
    assert first["replica_medians_s"] == (1.2e-5, 1.3e-5)
    assert first["peak_bytes"] == 2**40 + 1
    assert second["reason"] == 'the "worker", was killed'
    assert pd.isna(second["time_median_s"])
    assert len(run.samples) == 4


def test_csv_and_journal_hold_the_same_table(tmp_path: Path) -> None:
    folder = written(tmp_path).folder
    from_csv, from_journal = read_csv(folder / "cells.csv"), load_run(folder).table
    pd.testing.assert_frame_equal(from_csv, from_journal)
    parquet = pd.read_parquet(folder / "cells.parquet")
    assert parquet["time_median_s"].isna().tolist() == [False, True]
    assert parquet["mask"].tolist() == ["full", "full"]


def test_a_csv_alone_is_enough(tmp_path: Path) -> None:
    folder = written(tmp_path).folder
    expected = load_run(folder).table
    (folder / "journal.jsonl").unlink()
    pd.testing.assert_frame_equal(load_run(folder).table, expected)


def test_a_killed_run_keeps_what_it_measured(tmp_path: Path) -> None:
    writer = written(tmp_path, finish=False)
    with (writer.folder / "journal.jsonl").open("a") as journal:
        journal.write('{"record": {"cell": "naive.fwd-t32-')
    writer.journal.close()
    assert load_run(writer.folder).table["length_query"].tolist() == [8, 16]


def test_absent_is_empty_in_csv_and_never_zero(tmp_path: Path) -> None:
    with (written(tmp_path).folder / "cells.csv").open(newline="") as file:
        row = list(csv.DictReader(file))[1]
    assert row["time_median_s"] == row["peak_bytes"] == row["agrees"] == ""


def test_two_runs_at_once_get_two_folders(tmp_path: Path) -> None:
    names = {new_folder(tmp_path, "cpu-smoke").name for _ in range(5)}
    assert len(names) == 5


def test_the_newest_run_is_found(tmp_path: Path) -> None:
    written(tmp_path)
    newest = written(tmp_path).folder
    assert find_run(tmp_path) == newest
    assert find_run(tmp_path, newest.name) == newest
    assert find_run(tmp_path / "elsewhere", str(newest)) == newest


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"schema": 999}', "schema 999"),
        ("[]", "no schema number"),
        ("{", "cannot be read"),
        ('{"schema": 1, "x": ', "cannot be read"),
    ],
)
def test_a_poisoned_run_is_named_in_one_line(tmp_path: Path, text: str, words: str) -> None:
    folder = written(tmp_path).folder
    (folder / "run.json").write_text(text)
    with pytest.raises(ValueError, match=words) as caught:
        load_run(folder)
    assert "\n" not in str(caught.value)


def test_a_poisoned_journal_line_is_named(tmp_path: Path) -> None:
    folder = written(tmp_path).folder
    journal = folder / "journal.jsonl"
    good = journal.read_text().splitlines()
    bad = good[1].replace('"samples": null', '"samples": NaN')
    journal.write_text("\n".join([good[0], bad, good[0]]))
    with pytest.raises(ValueError, match=r"journal.jsonl line 2: NaN is not allowed"):
        load_run(folder)


def test_an_unknown_run_lists_the_valid_ones(tmp_path: Path) -> None:
    name = written(tmp_path).folder.name
    with pytest.raises(ValueError, match=f"no run 'x' in .*valid: {name}"):
        find_run(tmp_path, "x")


def test_nan_never_reaches_a_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "x.json", {"a": float("nan")})
    assert not (tmp_path / "x.json").exists()


def test_a_record_with_unknown_columns_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown columns \\['colour'\\]"):
        Record.from_dict(json.loads('{"colour": 1}'))


def test_an_old_file_lacks_the_columns_that_came_later(tmp_path: Path) -> None:
    folder = written(tmp_path).folder
    frame = pd.read_csv(folder / "cells.csv", dtype=str).drop(columns=["held_bytes", "work"])
    frame.to_csv(folder / "cells.csv", index=False)
    table = read_csv(folder / "cells.csv")
    assert table["held_bytes"].isna().all()
    assert table["work"].tolist() == ["attention", "attention"]
    assert table["length_query"].tolist() == [8, 16]


def test_a_file_that_is_no_table_of_cells_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cells.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"lacks the columns \['backend', 'cell', 'status'\]"):
        read_csv(tmp_path / "cells.csv")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"status": "ok"', '"status": "fine"', "status = 'fine': valid: 'ok', 'disagrees'"),
        ('"mask": "full"', '"mask": "half"', "mask = 'half': valid: 'full', 'causal'"),
        ('"heads": 4', '"heads": 0', "heads = 0: must be greater than 0"),
        ('"heads": 4', '"heads": "4"', "heads = '4': must be a valid integer"),
        ('"peak_bytes": 1099511627777', '"peak_bytes": 9223372036854775808', "peak_bytes = 92233"),
        (
            '"time_median_s": 1.25e-05',
            '"time_median_s": -1',
            "time_median_s = -1: must be greater",
        ),
        ('"time_median_s": 1.25e-05', '"time_median_s": 1e999', "time_median_s = inf: must be"),
        ('"agrees": true', '"agrees": "yes"', "agrees = 'yes': must be a valid boolean"),
        ('"heads_kv": 4, ', "", "key 'heads_kv' is missing"),
        ('"samples": [[1.2e-05', '"samples": [["x"', "samples.0.0 = 'x': must be a valid number"),
        ('"heads": 4', '"heads": 4, "colour": 1', "unknown key 'colour'; valid: run, cell"),
    ],
)
def test_a_value_that_no_run_can_hold_is_named(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    folder = written(tmp_path).folder
    journal = folder / "journal.jsonl"
    text = journal.read_text()
    assert old in text
    journal.write_text(text.replace(old, new, 1))
    with pytest.raises(ValueError, match=r"journal\.jsonl line 1: ") as caught:
        load_run(folder)
    assert words in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"a": {"b": [1, 10**30]}}, "a.b.1 = 1000000000000000000000000000000: must be finite"),
        ({"schema": True}, "it has no schema number"),
        ({"schema": "1"}, "it has no schema number"),
    ],
)
def test_facts_that_no_run_can_hold_are_named(
    tmp_path: Path, facts: dict[str, object], words: str
) -> None:
    folder = written(tmp_path).folder
    known = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(known | facts))
    with pytest.raises(ValueError, match=r"run\.json") as caught:
        load_run(folder)
    assert words in str(caught.value)


def test_facts_nested_without_end_are_refused(tmp_path: Path) -> None:
    folder = written(tmp_path).folder
    for depth, words in ((30, "a.0.0.0.0.* is nested deeper than 20"), (10**5, "nested too deep")):
        nest = "[" * depth + "]" * depth
        (folder / "run.json").write_text(f'{{"schema": 1, "a": {nest}}}')
        with pytest.raises(ValueError, match=words):
            load_run(folder)


def test_texts_lose_their_control_characters_when_read(tmp_path: Path) -> None:
    writer = RunWriter(new_folder(tmp_path, "cpu"), {"device": "c\x1b[31mpu", "a\x00b": ["\x07x"]})
    writer.append(record(8, reason="one\ntwo\x1b[2J \ud800three\tfour"), [])
    writer.finish()
    run = load_run(writer.folder)
    assert run.facts["device"] == "c[31mpu"
    assert run.facts["ab"] == ["x"]
    assert run.table["reason"].tolist() == ["one two[2J three\tfour"]


def test_a_journal_cut_inside_a_character_keeps_what_came_before(tmp_path: Path) -> None:
    folder = written(tmp_path).folder
    with (folder / "journal.jsonl").open("ab") as journal:
        journal.write('{"record": {"reason": "é'.encode()[:-1])
    assert load_run(folder).table["length_query"].tolist() == [8, 16]


def test_a_run_killed_before_its_first_cell_is_empty(tmp_path: Path) -> None:
    writer = RunWriter(new_folder(tmp_path, "cpu-smoke"), {"device": "cpu"})
    writer.journal.close()
    assert load_run(writer.folder).table["cell"].tolist() == []


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda text: text.replace(",ok,", ",ok", 1), r"line 2 has 44 values, the head 45"),
        (lambda text: text.replace(",True,", ",maybe,", 1), "agrees = 'maybe': must be True or"),
        (
            lambda text: text.replace("1.25e-05", "soon"),
            "time_median_s = 'soon': must be a number",
        ),
        (lambda text: text.replace(",8,8,", ",8.5,8,"), "length_query = '8.5': must be a whole"),
        (lambda text: "", r"lacks the columns \['backend', 'cell', 'status'\]"),
        (lambda text: text.replace("ok", '"' + "x" * 200_000, 1), "field larger|unexpected end"),
    ],
)
def test_a_spoilt_table_is_named(tmp_path: Path, spoil: object, words: str) -> None:
    folder = written(tmp_path).folder
    path = folder / "cells.csv"
    path.write_text(spoil(path.read_text()))  # type: ignore[operator]
    with pytest.raises(ValueError, match=words) as caught:
        read_csv(path)
    assert str(caught.value).isprintable()


def test_a_run_is_named_by_its_folder_also_from_inside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written(tmp_path).folder
    monkeypatch.chdir(folder)
    assert load_run(Path(".")).name == folder.name
    (folder / "inner").mkdir()
    assert load_run(folder / "inner" / "..").name == folder.name
