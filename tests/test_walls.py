"""The walls between the rooms: each test fails when one is broken."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HARNESS = ROOT / "harness"
PARENT = [
    "harness.plugin", "harness.case", "harness.grid", "harness.record", "harness.store",
    "harness.settings", "harness.__main__", "harness.analysis.claims", "harness.analysis.series",
    "harness.report.build", "harness.report.markdown", "harness.report.terminal",
    "harness.pool.session", "harness.pool.pool", "harness.attention.backends",
    "harness.measure.machine", "harness.measure.doctor", "harness.conformance",
    "harness.attention.behaviours", "harness.attention.known", "harness.asking", "harness.example",
    "harness.archive", "harness.figures", "harness.tracking", "harness.commands.compare",
    "harness.commands.history", "harness.analysis.compare", "harness.analysis.history",
    "harness.report.history_page", "harness.report.compare_listing", "harness.second_look",
    "harness.commands.export", "harness.export.junit", "harness.export.bencher",
    "harness.report.site.build", "harness.report.site.core", "harness.axes", "harness.faults",
    "harness.intake", "harness.reading",
    "harness.remote.publish", "harness.remote.mirror",
    "harness.noise", "harness.pool.noise_run", "harness.analysis.noise", "harness.resume",
    "harness.ending", "harness.writer", "harness.pool.facts",
]  # fmt: skip


def imports(path: Path) -> set[str]:
    """Return every module that a file imports at its top level."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def files(room: str) -> list[Path]:
    return sorted((HARNESS / room).rglob("*.py"))


@pytest.mark.parametrize("module", PARENT)
def test_the_parent_process_never_imports_torch(module: str) -> None:
    code = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr or f"{module} loads torch"


@pytest.mark.parametrize("room", ["analysis", "report"])
def test_tables_and_reports_know_no_torch(room: str) -> None:
    for path in files(room):
        assert not any(name.split(".")[0] == "torch" for name in imports(path)), path


def test_attention_knows_nothing_of_timing() -> None:
    for path in files("attention"):
        bad = [n for n in imports(path) if n == "time" or n.startswith("harness.measure")]
        assert not bad, f"{path} imports {bad}"


def test_backends_import_neither_each_other_nor_the_reference() -> None:
    for path in files("attention/backends"):
        if path.name == "__init__.py":
            continue
        bad = [
            name
            for name in imports(path)
            if name.startswith("harness.attention.backends") or name.endswith(".reference")
        ]
        assert not bad, f"{path} imports {bad}"


def test_measuring_knows_nothing_of_softmax() -> None:
    for path in files("measure"):
        calls = {
            node.func.attr
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        }
        assert "softmax" not in calls, path


def test_only_the_doors_and_the_terminal_print() -> None:
    allowed = {HARNESS / "__main__.py", HARNESS / "commands" / "options.py"}
    allowed.add(HARNESS / "report" / "terminal.py")
    for path in sorted(HARNESS.rglob("*.py")):
        names = {
            node.func.id
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert path in allowed or "print" not in names, path


def test_no_drawer_for_everything() -> None:
    names = {path.stem for path in HARNESS.rglob("*.py")}
    assert not names & {"utils", "util", "common", "helpers", "misc"}


def test_suites_stay_short() -> None:
    for path in sorted((ROOT / "suites").glob("*.py")):
        assert len(path.read_text().splitlines()) < 60, path
