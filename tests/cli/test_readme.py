"""README and docs: every command runs, every link leads somewhere, every name of code exists."""

from __future__ import annotations

import importlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from harness.__main__ import COMMANDS
from harness.analysis.claims import CLAIMS
from harness.cases.grid import grid_names
from harness.cli.pytest_options import OPTIONS
from tests.support import ROOT
from tests.support.run_command import ask, assert_polite
from tests.test_walls import ROOMS

README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
# Files that `run.json` and the like name are no modules.
FILES = {"json", "sbatch"}
TINY = """
target = 0.5
cap_s = 0.01
replicas = 1
timeout_s = 20.0
[base]
heads = 2
dim = 8
length = 16
[[series]]
suite = "length"
"""
# Key and value have fewer heads in one case, as in the grid of a GPU.
GROUPED = f'{TINY}mask = "causal"\nheads_kv = [1, 2]\n'


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(page: Path, language: str) -> list[str]:
    return [text for name, text in FENCE.findall(text_of(page)) if name == language]


def prose(page: Path) -> str:
    return FENCE.sub("", text_of(page))


def readme_commands() -> list[str]:
    """List the commands of README, of its shell blocks and inside its sentences, each once."""
    lines = [line for block in blocks(README, "sh") for line in block.splitlines()]
    lines += re.findall(r"`((?:pip|pytest|python|attnbench|bash|git) [^`]+)`", prose(README))
    found = [part for line in lines for part in line.partition(" #")[0].split("&&")]
    return list(dict.fromkeys(part.strip() for part in found if part.strip()))


# Each command of README is run as it stands, with `more` words behind it that make it short or
# keep it out of the checkout, or with a word `changed`.


def run_pytest(command: str, *more: str, **variables: str) -> str:
    """Run a command with pytest as a user would, from the checkout; return what it printed."""
    words = shlex.split(command.removeprefix("python -m "))
    done = subprocess.run(
        [sys.executable, "-m", *words, "-p", "no:cacheprovider", *more],
        cwd=ROOT, env=os.environ | variables, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def measure(command: str, folder: Path, *more: str, grid: str, **variables: str) -> str:
    """Run a command that measures on a tiny grid, and write into a folder of its own."""
    (folder / "tiny.toml").write_text(grid)
    own = ("--attn-grid", folder / "tiny.toml", "--attn-device", "cpu", "-k", "test_length")
    own += ("--attn-results", folder / "results", "--attn-reports", folder / "reports")
    return run_pytest(command, *map(str, own), *more, **variables)


def collect(command: str, folder: Path) -> None:
    """Let a command collect its cells on the CPU, and measure none."""
    printed = run_pytest(command, "--collect-only", "-q", "--attn-device", "cpu")
    assert re.search(r"^suites/\S+\[", printed, flags=re.MULTILINE), printed


def collect_tests(place: str) -> Callable[[str, Path], None]:
    """Make a check that a command collects what lies in one place of tests/: all takes long."""

    def check(command: str, folder: Path) -> None:
        words = command.removesuffix(" tests")
        assert f"{place}::" in run_pytest(words, "--collect-only", "-q", place)

    return check


def install(command: str, folder: Path) -> None:
    """Check what a command would install against pyproject: an extra, or a version in range."""
    project = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]
    wanted = shlex.split(command)[-1]
    if "==" in wanted:
        (known,) = (Requirement(one) for one in project["dependencies"] if one.startswith("torch"))
        name, _, version = wanted.partition("==")
        assert name == known.name
        assert version in known.specifier
        assert wanted in text_of(ROOT / ".ci" / "constraints.txt").split()
    else:
        extra = re.fullmatch(r"\.(?:\[(\w+)\])?", wanted)
        assert extra is not None, wanted
        assert extra[1] is None or extra[1] in project["optional-dependencies"]


def measured(command: str, folder: Path) -> None:
    """Look at what the fixture measured by this very command."""
    assert command == MAIN
    newest = (folder / "results" / "LATEST").read_text().strip()
    assert (folder / "reports" / newest / "README.md").is_file()


def with_own_backend(command: str, folder: Path) -> None:
    """Measure the function that README shows, also where key and value have fewer heads."""
    (source,) = (text for text in blocks(README, "python") if "def my_attention" in text)
    place = folder / "own"
    place.mkdir()
    (place / "my_module.py").write_text(source)
    only = ("--attn-backends", "my-attention")
    printed = measure(command, place, *only, grid=GROUPED, PYTHONPATH=str(place))
    assert "2 agree, 0 disagree" in printed, printed


def ask_harness(command: str, folder: Path) -> None:
    """Ask the command line inside this process; its folders are those of the fixture's run."""
    words = shlex.split(command)
    assert words[:3] == ["python", "-m", "harness"]
    answer = ask(*words[3:])
    assert_polite(answer)
    assert answer.out
    if "--out" in words:
        assert (folder / words[-1] / "index.html").is_file()


MAIN = "pytest suites --benchmark-only"
KNOWN: dict[str, Callable[[str, Path], None]] = {
    "pip install -e .": install,
    "pip install -e '.[test]'": install,
    "pip install torch==2.13.0": install,
    "pytest": collect_tests("tests/cases/test_case.py"),
    "python -m pytest -m gpu tests": collect_tests("tests/measure/test_device.py"),
    MAIN: measured,
    f"{MAIN} --attn-extra-backend my_module:my_attention": with_own_backend,
    f"{MAIN} --attn-grid smoke": collect,
    f'{MAIN} -k "flash and t4096"': collect,
    f"{MAIN} --attn-require sdpa-flash,flash-attn": collect,
    "python -m harness backends": ask_harness,
    "python -m harness doctor": ask_harness,
    "python -m harness report": ask_harness,
    "python -m harness site results --out site": ask_harness,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run of README's first command, on a tiny grid."""
    place = tmp_path_factory.mktemp("readme")
    measure(MAIN, place, "--attn-backends", "naive", grid=TINY)
    return place


def test_every_command_of_readme_is_known_here() -> None:
    assert set(readme_commands()) == set(KNOWN)


@pytest.mark.parametrize("command", readme_commands())
def test_every_command_of_readme_runs(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ATTN_RESULTS", "ATTN_DEVICE", "ATTN_GRID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(folder)
    KNOWN[command](command, folder)


@pytest.mark.parametrize("source", blocks(README, "python"))
def test_every_python_block_of_readme_runs(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "results" / "sample-cpu", tmp_path / "results" / "sample-cpu")
    monkeypatch.chdir(tmp_path)
    exec(compile(source, "README.md", "exec"), {})


def test_readme_begins_with_a_paragraph_a_figure_and_two_commands() -> None:
    lines = text_of(README).splitlines()
    assert len(lines) <= 150
    title, paragraph, figure, *rest = "\n".join(lines[:30]).split("\n\n")
    assert title.startswith("# ")
    assert not paragraph.startswith(("#", "!", "|", "-", "`"))
    assert re.fullmatch(r"!\[.+\]\(reports/sample-cpu/figures/\S+\.png\)", figure)
    assert f"pip install -e . && {MAIN}" in rest[0]
    assert "pip install -e '.[test]' && pytest" in rest[0]


# The table of verdicts: short, and true to the sample run.


def verdict_rows() -> list[list[str]]:
    """Return the cells of README's table of verdicts, row by row."""
    section = prose(README).split("## Verdicts\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def claims_of(cell: str, *, named: set[str]) -> Iterator[str]:
    """Yield the ids that a row speaks of: `A1 to A13`, `C1, C9`, or the `other D`."""
    for part in cell.split(", "):
        span = re.fullmatch(r"([A-Z])(\d+) to \1(\d+)", part)
        if span:
            yield from (f"{span[1]}{n}" for n in range(int(span[2]), int(span[3]) + 1))
        elif part == "other D":
            yield from (one.id for one in CLAIMS if one.id[0] == "D" and one.id not in named)
        else:
            yield part


def sample_counts() -> dict[str, tuple[str, int, int]]:
    """Return {claim: (its verdict, series that support it, series judged)} of the sample run."""
    path = ROOT / "reports" / "sample-cpu" / "verdicts.json"
    words: dict[str, list[str]] = {}
    for row in json.loads(text_of(path)):
        words.setdefault(row["claim"], []).append(row["verdict"])
    counts = {}
    for claim, seen in words.items():
        judged = [word for word in seen if word != "not_measured"]
        worst = next((w for w in ("refuted", "inconclusive", "supported") if w in judged), "none")
        counts[claim] = (worst, judged.count("supported"), len(judged))
    return counts


def test_the_table_of_verdicts_is_short_and_says_what_the_sample_says() -> None:
    rows, counts = verdict_rows(), sample_counts()
    assert len(rows) <= 12
    named = {part for cells in rows for part in cells[0].split(", ")}
    said = []
    for cells in rows:
        ids = list(claims_of(cells[0], named=named))
        said += ids
        word = re.match(r"\w+", cells[2])
        assert word is not None
        assert {counts[one][0] for one in ids} == {word[0]}, cells
        pairs = [(int(a), int(b)) for a, b in re.findall(r"(\d+) of (\d+)", cells[2])]
        if pairs:
            held, judged = (sum(counts[one][place] for one in ids) for place in (1, 2))
            assert (held, judged) == tuple(map(sum, zip(*pairs, strict=True))), cells
    assert "C14, supported" in prose(README)
    assert sorted([*said, "C14"]) == sorted(claim.id for claim in CLAIMS)


def test_the_counts_of_verdicts_are_those_of_the_sample() -> None:
    words = [word for word, _, _ in sample_counts().values()]
    counts = {word: words.count(word) for word in ("supported", "inconclusive", "refuted")}
    assert (
        f"{len(words)} claims, of which {counts['supported']} are supported, "
        f"{counts['inconclusive']}\ninconclusive and {counts['refuted']} refuted"
    ) in text_of(README)


# Links, paths and names.


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    titles = re.findall(r"^#+ (.+)$", prose(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"\w+://", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_paths_and_names_of_code_exist(page: Path) -> None:
    text = text_of(page)
    for path in re.findall(r"(?:harness|tests|suites|benchmarks|\.github)/[\w/]+\.\w+", text):
        assert (ROOT / path).is_file(), path
    names = re.findall(r"`((?:\w+\.)+\w+)`", text)
    dotted = [
        f"harness.{name}"
        for name in names
        if name.split(".")[0] in ROOMS and name.split(".")[-1] not in FILES
    ]
    imported = re.findall(r"from (harness[\w.]*) import (\w+)", text)
    for name in [*dotted, *map(".".join, imported)]:
        assert exists(name), name


def exists(name: str) -> bool:
    """Whether a dotted name leads through modules to a class, a function or a value."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            found = getattr(found, part, None)
        return found is not None
    return False


def test_a_name_that_is_gone_would_be_found() -> None:
    assert exists("harness.cases.grid.Grid.cells")
    assert not exists("harness.cases.grid.Grid.no_such")
    assert not exists("harness.no_such.thing")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_options_that_a_page_names_exist(page: Path) -> None:
    text = text_of(page)
    options = {f"--attn-{name}" for name in (*OPTIONS, "extra-backend")}
    assert set(re.findall(r"--attn-[a-z-]+\b", text)) <= options
    asked = re.findall(r"(?:python -m harness|attnbench) ([a-z]+)", text)
    assert set(asked) <= set(COMMANDS)


def test_every_option_command_and_grid_has_a_line() -> None:
    options = text_of(ROOT / "docs" / "options.md")
    for name in (*OPTIONS, "extra-backend"):
        assert f"\n| `--attn-{name} " in options, name
    for name in grid_names():
        assert f"\n| `{name}` |" in options, name
    commands = text_of(ROOT / "docs" / "commands.md")
    for name in COMMANDS:
        assert re.search(rf"^\| `{name}[ `]", commands, flags=re.MULTILINE), name


def test_the_index_names_every_page_once() -> None:
    index = text_of(ROOT / "docs" / "README.md")
    listed = re.findall(r"^- \[\w+\]\((\w+\.md)\): .+\.$", index, flags=re.MULTILINE)
    assert sorted([*listed, "README.md"]) == sorted(page.name for page in PAGES[1:])
    assert len(index.splitlines()) == len(listed) + 2
