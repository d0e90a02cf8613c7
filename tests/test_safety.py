"""Safety: files of a run are read, never executed, and nothing in them reaches a page or terminal
as anything but text."""

from __future__ import annotations

import ast
import json
import os
import pickle
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from harness.cases.case import Case
from harness.records.record import Record
from harness.records.store import find_run, load_run
from harness.report.markdown import report_and_summarise
from tests.support import ROOT
from tests.support import damaged_runs as damage
from tests.support import made_runs as runs
from tests.support.run_command import ask, assert_polite

HARNESS = ROOT / "harness"
BACKEND = f"mine-{damage.SCRIPT}{damage.ANSI}$\\frac{{x$ 日本 🎉"
REASON = f"{damage.SCRIPT} {damage.IMAGE} {damage.LINK} <img src=x onerror=alert(1)> {damage.ANSI}"
# Calls that run what a file holds; numpy's and torch's loaders unpickle.
FORBIDDEN = {
    "eval", "exec", "compile", "__import__", "pickle.load", "pickle.loads", "dill.load",
    "dill.loads", "marshal.load", "marshal.loads", "shelve.open", "yaml.load", "np.load",
    "numpy.load", "pd.read_pickle", "pandas.read_pickle", "torch.load", "joblib.load", "os.system",
    "os.popen",
}  # fmt: skip


def poisoned_cells() -> Iterator[tuple[Record, list[list[float]]]]:
    """Cells of a backend with a hostile name beside one that failed with hostile words."""
    for length in (64, 128, 256, 512):
        for name in ("naive", "tiled"):
            record, samples = runs.cell(name, "length", Case.square(length), "made")
            hostile = (
                {"backend": BACKEND, "cell": f"{BACKEND}.{length}"} if name == "tiled" else {}
            )
            yield replace(record, **hostile, flags=damage.SCRIPT), samples
    record, _ = runs.cell("flash-attn", "length", Case.square(64), "made")
    yield replace(record, reason=REASON, suite=REASON, kernel=REASON), []


@pytest.fixture(scope="module")
def poisoned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose names, reasons and facts are all attacks."""
    folder = tmp_path_factory.mktemp("results") / f"run-{damage.LINK}<b>x"
    facts = runs.FACTS | {
        "device": REASON, "fingerprint": REASON, "command": f"```\n{REASON}", "baseline": BACKEND,
        "grid": {"name": REASON}, "machine": {"cpu_model": REASON, REASON: REASON},
        "notes": [REASON], "unavailable": {REASON: REASON}, "started": REASON, REASON: REASON,
    }  # fmt: skip
    runs.write_run(folder, cells=list(poisoned_cells()), facts=facts)
    finding = f'"{BACKEND}",nan-row,cpu,float32,"{REASON}","{REASON}",deviates,"{REASON}"\n'
    head = "backend,behaviour,device,dtype,expected,observed,verdict,reason\n"
    (folder / "conformance.csv").write_text(head + finding)
    return folder


@pytest.fixture(scope="module")
def page(poisoned: Path) -> str:
    """The report of the poisoned run, its figures drawn as well."""
    reports = poisoned.parent.parent / "reports"
    answer = ask(
        "report", poisoned.name, "--results", str(poisoned.parent), "--reports", str(reports)
    )
    assert_polite(answer)
    assert_only_text(answer.out)
    return (reports / poisoned.name / "README.md").read_text()


def assert_only_text(out: str) -> None:
    strange = {sign for sign in out if not sign.isprintable() and sign != "\n"}
    assert not strange
    assert "alert(1)" in out


def test_a_report_holds_no_markup_of_its_data(page: str) -> None:
    tokens = MarkdownIt("commonmark").enable("table").parse(page)
    flat = [child for token in tokens for child in (token, *(token.children or ()))]
    ours = re.compile(r"</?details>(<summary>[^<>]*</summary>)?\s*|</details>\s*")
    tags = [token.content for token in flat if token.type in ("html_block", "html_inline")]
    assert tags
    assert [tag for tag in tags if not ours.fullmatch(tag)] == []
    assert "alert(1)" in page  # the attacks are shown, as text
    links = [str(token.attrs["href"]) for token in flat if token.type == "link_open"]
    assert links
    assert [link for link in links if not link.startswith("#")] == []
    images = [str(token.attrs["src"]) for token in flat if token.type == "image"]
    assert images
    assert [image for image in images if not re.fullmatch(r"figures/[\w.-]+\.png", image)] == []


def test_a_report_holds_no_control_characters(page: str) -> None:
    assert {sign for sign in page if not sign.isprintable()} == {"\n"}


@pytest.mark.parametrize("words", [["show"], ["claims"], ["show", "--json"], ["claims", "--json"]])
def test_a_terminal_gets_text_alone(poisoned: Path, words: list[str]) -> None:
    answer = ask(*words, poisoned.name, "--results", str(poisoned.parent))
    assert_polite(answer)
    assert_only_text(answer.out)
    if "--json" in words:
        assert json.loads(answer.out)


def test_a_command_to_copy_keeps_a_hostile_name_in_one_word(tmp_path: Path) -> None:
    folder = tmp_path / "made; rm -rf ~"
    runs.write_run(folder, cells=[])
    with (tmp_path / "out").open("w") as out:
        report_and_summarise(folder, tmp_path / "reports", out)
    page = (tmp_path / "reports" / folder.name / "README.md").read_text()
    assert "python -m harness report 'made; rm -rf ~'" in page


class Bomb:
    """Leave a file behind when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, tuple[str, ...]]:
        return os.mkdir, (str(self.marker),)


def test_nothing_in_a_run_is_ever_unpickled(tmp_path: Path) -> None:
    marker = tmp_path / "boom"
    bytes_of_bomb = pickle.dumps(Bomb(marker))
    pickle.loads(bytes_of_bomb)
    marker.rmdir()  # it works: had anything loaded it, the folder would be there again
    folder = tmp_path / "results" / "made"
    runs.write_run(folder, cells=list(poisoned_cells()))
    text = [path for path in folder.iterdir() if path.suffix != ".parquet"]
    for name in ("cells.pkl", "samples.parquet", "cells.parquet", "samples.npy", "facts.pickle"):
        (folder / name).write_bytes(bytes_of_bomb)
    place = ["--results", str(tmp_path / "results")]
    for command in ("show", "claims", "report"):
        reports = ["--reports", str(tmp_path / "reports")] if command == "report" else []
        answer = ask(command, "made", *place, *reports)
        assert answer.code in (0, 1), answer
    for path in text:
        path.write_bytes(bytes_of_bomb)
        assert_polite(ask("show", "made", *place))
    assert not marker.exists()


def calls(path: Path) -> Iterator[tuple[int, str, ast.Call]]:
    """Yield every call in a file: line, dotted name, node."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield node.lineno, ast.unparse(node.func), node


def dangers(path: Path) -> list[str]:
    """List the calls that could run what a file or a user's text holds."""
    found = []
    for line, name, node in calls(path):
        shell = any(
            word.arg in ("shell", "allow_pickle")
            and not (isinstance(word.value, ast.Constant) and word.value.value is False)
            for word in node.keywords
        )
        if name in FORBIDDEN or shell or name.endswith(("read_pickle", "unsafe_load")):
            found.append(f"{path.name}:{line} {name}")
    return found


@pytest.mark.parametrize(
    "code", ["eval(x)", "pd.read_pickle(p)", "run(a, shell=True)", "np.load(p, allow_pickle=ok)"]
)
def test_the_search_for_dangers_finds_them(tmp_path: Path, code: str) -> None:
    (tmp_path / "x.py").write_text(code)
    assert dangers(tmp_path / "x.py")


def test_no_module_executes_data() -> None:
    found = [danger for path in sorted(HARNESS.rglob("*.py")) for danger in dangers(path)]
    assert found == []


def test_no_module_imports_pickle() -> None:
    for path in sorted(HARNESS.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in getattr(node, "names", [])]
            names.append(getattr(node, "module", None) or "")
            bad = {"pickle", "cPickle", "dill", "shelve", "marshal", "cloudpickle", "joblib"}
            assert not bad & {name.split(".")[0] for name in names}, path


@pytest.mark.parametrize("name", ["..", ".", "made/..", "made/../.."])
def test_a_report_stays_in_the_folder_of_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    work = tmp_path / "deep" / "deeper"
    (work / "made").mkdir(parents=True)
    monkeypatch.chdir(work)
    runs.write_run(tmp_path / "elsewhere", cells=[])
    folder = Path(name)
    (folder / "run.json").write_bytes((tmp_path / "elsewhere" / "run.json").read_bytes())
    (folder / "journal.jsonl").touch()
    reports = tmp_path / "there" / "reports"
    answer = ask("report", name, "--results", str(tmp_path / "none"), "--reports", str(reports))
    assert answer.code == 0, answer
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["reports"]
    assert [path.name for path in reports.iterdir()] == [folder.resolve().name]


def test_an_absolute_path_of_a_run_writes_under_its_last_name(tmp_path: Path) -> None:
    folder = tmp_path / "far" / "made"
    runs.write_run(folder, cells=[])
    answer = ask(
        "report", str(folder), "--results", str(tmp_path), "--reports", str(tmp_path / "reports")
    )
    assert answer.code == 0, answer
    assert [path.name for path in (tmp_path / "reports").iterdir()] == ["made"]


@pytest.mark.parametrize("name", ["../outside", "/", "", "made\n/etc", "x" * 5000, "\x00", "."])
def test_the_newest_run_lies_in_the_folder_of_runs(tmp_path: Path, name: str) -> None:
    runs.write_run(tmp_path / "outside", cells=[])
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "LATEST").write_text(name)
    with pytest.raises(ValueError, match="LATEST names ") as caught:
        find_run(tmp_path / "results")
    assert str(caught.value).isprintable()


def test_a_link_in_a_run_is_read_but_never_written_through(tmp_path: Path) -> None:
    folder, outside = tmp_path / "results" / "made", tmp_path / "outside"
    runs.write_run(folder, cells=[])
    outside.mkdir()
    for name in ("run.json", "verdicts.json"):
        (outside / name).write_bytes((folder / "run.json").read_bytes())
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(outside / name)
    before = {path.name: path.read_bytes() for path in outside.iterdir()}
    answer = ask(
        "report", "made", "--results", str(tmp_path / "results"),
        "--reports", str(tmp_path / "reports"),
    )  # fmt: skip
    assert answer.code == 0, answer
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == before
    assert load_run(folder).facts["baseline"] == "naive"


def test_a_pipe_in_a_run_does_not_hang(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    runs.write_run(folder, cells=[])
    (folder / "journal.jsonl").unlink()
    (folder / "cells.csv").unlink()
    os.mkfifo(folder / "cells.csv")
    answer = ask("show", str(folder))
    assert answer.code == 2
    assert "it is not a file" in answer.err
