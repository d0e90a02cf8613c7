"""The walls between the rooms: each test fails when one is broken."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HARNESS = ROOT / "harness"
# In the order in which data crosses them: a room imports only rooms before it.
ROOMS = ("cases", "records", "attention", "analysis", "measure", "run", "report", "cli")
DOORS = {"harness", "harness.__main__", "harness.plugin"}
# Only workers import these: whole rooms, and modules of rooms that the parent knows in part.
WORKERS = (
    "harness.measure", "harness.attention.works", "harness.attention.probe",
    "harness.attention.inputs", "harness.attention.reference", "harness.attention.agreement",
    "harness.attention.gradients", "harness.attention.behaviours.subject",
    "harness.attention.behaviours.invariants",
)  # fmt: skip
PARENT = (
    "harness.measure.machine", "harness.measure.host_memory", "harness.measure.cards",
    "harness.measure.contention", "harness.measure.protocol", "harness.measure.worker",
)  # fmt: skip


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in sorted(HARNESS.rglob("*.py"))}


def imports(path: Path) -> set[str]:
    """Return every module that a file imports anywhere, for types alone as well."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (names & set(MODULES)) or {node.module}
    return found


GRAPH = {name: imports(path) & set(MODULES) - {name} for name, path in MODULES.items()}


def files(room: str) -> list[Path]:
    return sorted((HARNESS / room).rglob("*.py"))


def room_of(module: str) -> str:
    return module.split(".")[1]


def test_nothing_lies_outside_the_rooms_but_the_doors() -> None:
    assert {name for name in MODULES if len(name.split(".")) < 3} == {
        *DOORS, *(f"harness.{room}" for room in ROOMS)
    }  # fmt: skip


def test_a_room_imports_only_rooms_before_it() -> None:
    for name, known in GRAPH.items():
        if name in DOORS:
            continue
        place = ROOMS.index(room_of(name))
        late = [one for one in known if one in DOORS or ROOMS.index(room_of(one)) > place]
        assert not late, f"{name} imports {late}"


def circles(graph: dict[str, set[str]]) -> Iterator[str]:
    """Yield what is left when every module that imports none of the rest is taken away."""
    left = {name: set(known) for name, known in graph.items()}
    while free := [name for name, known in left.items() if not known & set(left)]:
        for name in free:
            del left[name]
    yield from left


def test_no_two_modules_import_each_other() -> None:
    assert not sorted(circles(GRAPH))


def test_a_circle_would_be_found() -> None:
    assert sorted(circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()})) == ["a", "b", "c"]


def for_the_parent(module: str) -> bool:
    if module in PARENT:
        return True
    return not any(module == one or module.startswith(f"{one}.") for one in WORKERS)


def test_the_parent_process_never_imports_torch() -> None:
    names = [name for name in MODULES if for_the_parent(name) and name != "harness.__main__"]
    code = "import sys\n" + "".join(
        f"import {name}\nassert 'torch' not in sys.modules, {name!r}\n" for name in names
    )
    code += "import harness.__main__\nsys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("room", ["cases", "records", "analysis", "run", "report", "cli"])
def test_only_what_is_computed_and_measured_knows_torch(room: str) -> None:
    for path in files(room):
        assert not any(name.split(".")[0] == "torch" for name in imports(path)), path


def test_attention_knows_nothing_of_timing() -> None:
    for path in files("attention"):
        bad = [name for name in imports(path) if name == "time"]
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
    allowed = {HARNESS / "__main__.py", HARNESS / "cli" / "options.py"}
    allowed.add(HARNESS / "report" / "terminal.py")
    for path in MODULES.values():
        names = {
            node.func.id
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert path in allowed or "print" not in names, path


def test_no_drawer_for_everything() -> None:
    names = {path.stem for path in MODULES.values()}
    assert not names & {"utils", "util", "common", "helpers", "misc"}


def test_suites_stay_short() -> None:
    for path in sorted((ROOT / "suites").glob("*.py")):
        assert len(path.read_text().splitlines()) < 60, path
