"""Damage: ways in which files of a run are spoilt, by chance, by hand, or on purpose."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from harness.cases.masks import MASK_CODES
from harness.cases.shape import DTYPE_CODES, PHASE_CODES, WORK_CODES
from harness.records.record import COLUMNS, Status

Damage = Callable[[Path], None]
DEEP = "DEEP-NEST"
SCRIPT = "<script>alert(1)</script>"
IMAGE = "![x](http://evil.example/x.png)"
LINK = "[free numbers](javascript:alert(1))"
ANSI = "\x1b[31mred\x1b]0;title\x07\x1b[2J"
HOSTILE = (
    SCRIPT, IMAGE, LINK, ANSI, "a|b|c", "two\nlines\r\nthree", "`x` ``` y", "[/bold] [link=x]y[/]",
    "../../x", "/absolute", "$\\frac{x$ _y", "\ud800", "\u202eabc", "\x00", "%s {x} {0}", "-0",
    " ", "_private", "nolegend_", "日本語 🎉", "long " * 2000, "=cmd()", "<NA>", "nan", "None",
)  # fmt: skip
NUMBERS = (
    0, -1, 1, 2**31, 2**53, 2**63 - 1, 2**63, -(2**63) - 1, 10**400, 0.0, -0.5, 5e-324, 1e-13,
    1e-12, 1e9, 1e18, 1e300, 1.7e308, float("nan"), float("inf"), float("-inf"),
)  # fmt: skip
# Every type that JSON has, and values of each that nobody thought of.
odd = st.one_of(
    st.sampled_from(HOSTILE),
    st.sampled_from(NUMBERS),
    st.sampled_from([None, True, False, [], {}, [[]], {"": ""}, [None], {"a": [1]}, DEEP]),
    st.text(max_size=8),
    st.integers(-10, 10**6),
    st.floats(),
)
# What a schema allows, near its edges: a report has to cope with all of it.
_names = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=8))
_sizes = st.one_of(st.sampled_from([1, 2, 3, 2**20, 2**31 - 1]), st.integers(1, 5000))
_wholes = st.one_of(_sizes, st.sampled_from([0, 2**53, 2**62, 2**63 - 1, None]))
_numbers = st.one_of(st.floats(1e-12, 1e9), st.sampled_from([1e-12, 1e9, 1, None]))
_any = st.one_of(_numbers, st.sampled_from([0.0, 5e-324, 1e300, 1.7e308]))
NEAR: dict[str, st.SearchStrategy[Any]] = {
    "str": _names, "str | None": _names | st.none(), "int": _sizes, "int | None": _wholes,
    "float | None": _any, "bool | None": st.sampled_from([True, False, None]),
    "tuple[float, ...] | None": st.lists(st.floats(1e-12, 1e9), max_size=7) | st.none(),
}  # fmt: skip
CHOICES: dict[str, st.SearchStrategy[Any]] = {
    "mask": st.sampled_from(list(MASK_CODES)), "dtype": st.sampled_from(list(DTYPE_CODES)),
    "phase": st.sampled_from(list(PHASE_CODES)), "work": st.sampled_from(list(WORK_CODES)),
    "status": st.sampled_from([str(one) for one in Status]),
    "window": st.none() | _sizes, "time_median_s": _numbers, "first_call_s": _numbers,
    "time_min_s": _numbers,
}  # fmt: skip


def dump(value: Any) -> str:
    """Write JSON as careless programs do: NaN, digits without end, nests without floor."""
    return json.dumps(value).replace(f'"{DEEP}"', "[" * 3000 + "]" * 3000)


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value in nested JSON, the whole first."""
    yield at
    if isinstance(value, (dict, list)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*at, key))


def put(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    """Return nested JSON with one value replaced."""
    if not place:
        return new
    copy = value.copy()
    copy[place[0]] = put(value[place[0]], place[1:], new)
    return copy


@st.composite
def spoilt_bytes(draw: st.DrawFn, names: tuple[str, ...]) -> Damage:
    """Cut a file, flip a bit, insert bytes, remove it, or put something else in its place."""
    name = draw(st.sampled_from(names))
    kind = draw(st.sampled_from(["cut", "flip", "insert", "remove", "folder", "swap", "fill"]))
    share, junk = draw(st.floats(0, 1)), draw(st.binary(min_size=1, max_size=12))
    other = draw(st.sampled_from(names))

    def spoil(folder: Path) -> None:
        path, whole = folder / name, (folder / name).read_bytes()
        at = int(share * max(0, len(whole) - 1))
        if kind == "flip" and whole:
            whole = whole[:at] + bytes([whole[at] ^ (1 << junk[0] % 8)]) + whole[at + 1 :]
        texts = {
            "cut": whole[:at], "insert": whole[:at] + junk + whole[at:], "fill": junk * 100,
            "swap": (folder / other).read_bytes(), "flip": whole,
        }  # fmt: skip
        path.unlink()
        if kind == "folder":
            path.mkdir()
        elif kind in texts:
            path.write_bytes(texts[kind])

    return spoil


@st.composite
def spoilt_facts(draw: st.DrawFn, facts: dict[str, Any]) -> Damage:
    """Put odd values at places of run.json, or new keys into it."""
    for _ in range(draw(st.integers(1, 3))):
        if isinstance(facts, dict):
            place = draw(st.sampled_from(sorted(places(facts), key=str)))
            facts = put(facts, place, draw(odd))
    if isinstance(facts, dict) and draw(st.booleans()):
        facts = facts | {draw(st.sampled_from(HOSTILE)): draw(odd)}
    return lambda folder: _write(folder / "run.json", dump(facts))


@st.composite
def spoilt_journal(draw: st.DrawFn, lines: list[dict[str, Any]]) -> Damage:
    """Put odd values into lines of the journal, or write lines twice."""
    lines = list(lines)
    for _ in range(draw(st.integers(1, 4))):
        number = draw(st.integers(0, len(lines) - 1))
        place = draw(st.sampled_from(sorted(places(lines[number]), key=str)))
        lines[number] = put(lines[number], place, draw(odd))
        if not isinstance(lines[number], dict):
            break
    if draw(st.booleans()):
        lines.append(draw(st.sampled_from(lines)))
    return lambda folder: _write(folder / "journal.jsonl", "\n".join(map(dump, lines)) + "\n")


@st.composite
def stretched_records(draw: st.DrawFn, lines: list[dict[str, Any]]) -> Damage:
    """Put values that the schema allows into one line, those of one backend, or all."""
    records = [dict(line["record"]) for line in lines]
    for _ in range(draw(st.integers(1, 6))):
        name = draw(st.sampled_from(sorted(COLUMNS)))
        value = draw(CHOICES.get(name, NEAR[str(COLUMNS[name].type)]))
        one, scope = draw(st.sampled_from(records)), draw(st.sampled_from(["cell", "backend", ""]))
        chosen = [each for each in records if not scope or each[scope] == one[scope]]
        for each in chosen:
            each[name] = value
    spoilt = [line | {"record": record} for line, record in zip(lines, records, strict=True)]
    text = "\n".join(map(dump, spoilt)) + "\n"
    return lambda folder: _write(folder / "journal.jsonl", text)


@st.composite
def spoilt_table(draw: st.DrawFn, name: str, rows: list[list[str]]) -> Damage:
    """Put odd texts into cells of a CSV file, or rows and columns more or fewer."""
    rows = [list(row) for row in rows]
    for _ in range(draw(st.integers(1, 4))):
        row = draw(st.integers(0, len(rows) - 1))
        if rows[row]:
            column = draw(st.integers(0, len(rows[row]) - 1))
            rows[row][column] = str(draw(odd))
    kind = draw(st.sampled_from(["", "", "twice", "ragged", "short", "column", "fewer"]))
    if kind in ("ragged", "short"):
        row = draw(st.integers(0, len(rows) - 1))
        rows[row] = [*rows[row], "more"] if kind == "ragged" else rows[row][:-1]
    rows += [rows[-1]] * (kind == "twice")
    rows = [[*row, "x"] if kind == "column" else row for row in rows]
    rows = [row[1:] if kind == "fewer" else row for row in rows]

    def spoil(folder: Path) -> None:
        (folder / "journal.jsonl").unlink(missing_ok=True)
        file = io.StringIO(newline="")
        csv.writer(file, escapechar="\\").writerows(rows)
        _write(folder / name, file.getvalue())

    return spoil


def _write(path: Path, text: str) -> None:
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
