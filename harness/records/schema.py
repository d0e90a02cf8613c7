"""Schema: what comes in from a file is read and held against the schema, refused in one line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    TypeAdapter,
    ValidationError,
    create_model,
)
from pydantic import Field as Limit

from harness.cases.masks import MASK_CODES
from harness.cases.shape import DTYPE_CODES, PHASE_CODES, WORK_CODES
from harness.cases.text import explain, one_line, printable, shown, unreadable
from harness.records.record import COLUMNS, Finding, Status

WHOLE_MOST = 2**63 - 1  # what a column of 64 bits holds
Row = tuple[int, dict[str, str]]
DEPTH_MOST = 20  # how deep facts may be nested; those of this program are four deep
SHAPE_MOST = 2**31 - 1  # what torch takes for the size of one axis of a kernel's grid
# Times outside are faults of a file: light goes 0.3 mm in a picosecond, and 1e9 s are 31 years.
SECONDS_LEAST, SECONDS_MOST = 1e-12, 1e9
Line = Annotated[str, AfterValidator(printable)]
Size = Annotated[int, Limit(gt=0, le=SHAPE_MOST)]
Count = Annotated[int, Limit(ge=0, le=WHOLE_MOST)]
Number = Annotated[float, Limit(ge=0, allow_inf_nan=False)]
Seconds = Annotated[float, Limit(ge=SECONDS_LEAST, le=SECONDS_MOST)]
Medians = Annotated[tuple[Seconds, ...], Limit(strict=False)]
KINDS: dict[str, Any] = {
    "str": Line, "str | None": Line | None, "int": Size, "int | None": Count | None,
    "float | None": Number | None, "bool | None": bool | None,
    "tuple[float, ...] | None": Medians | None,
}  # fmt: skip
# Columns that are held to more than their type.
NARROWER: dict[str, Any] = {
    "dtype": Literal[tuple(DTYPE_CODES)], "mask": Literal[tuple(MASK_CODES)],
    "phase": Literal[tuple(PHASE_CODES)], "work": Literal[tuple(WORK_CODES)],
    "status": Literal[tuple(map(str, Status))], "window": Size | None,
    **dict.fromkeys(("time_median_s", "time_min_s", "first_call_s"), Seconds | None),
}  # fmt: skip
SAMPLES = TypeAdapter(list[list[Number]], config=ConfigDict(strict=True))
PARSERS: dict[str, Any] = {
    "str": str, "int": int, "float": float, "bool": {"True": True, "False": False}.__getitem__,
    "tuple[float, ...]": lambda text: tuple(float(part) for part in text.split()),
}  # fmt: skip
WORDS = {
    "int": "a whole number", "float": "a number", "bool": "True or False",
    "tuple[float, ...]": "numbers with blanks between them",
}  # fmt: skip


def parse_json(text: str | bytes) -> Any:
    """Read JSON as the standard has it, so without NaN; ValueError if it is not, or too deep."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _refuse(text: str) -> float:
    raise ValueError(f"{text} is not allowed")


def tidy(value: Any, place: str = "", depth: int = 0) -> Any:
    """Return JSON's values with printable texts; ValueError for a number or a depth beyond use."""
    if depth > DEPTH_MOST:
        raise ValueError(f"{one_line(place, 60)} is nested deeper than {DEPTH_MOST} levels")
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {
            printable(key): tidy(item, f"{place}.{key}".lstrip("."), depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [tidy(item, f"{place}.{at}", depth + 1) for at, item in enumerate(value)]
    if isinstance(value, (int, float)) and not abs(value) <= WHOLE_MOST:
        raise ValueError(f"{one_line(place, 60)} = {shown(value)}: must be finite and below 2^63")
    return value


def read_rows(path: Path, *, cut: bool = False) -> tuple[list[str], list[Row]]:
    """Return the head of a CSV file and its rows, each with its line; ValueError if it is none.

    With `cut`, a last row that has no end yet is left out.
    """
    text = read_text(path)
    if cut:
        text = text[: text.rfind("\n") + 1]
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        head = next(reader, [])
        rows = [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        raise unreadable(path, f"line {reader.line_num}: {error}") from None
    for line, row in rows:
        if len(row) != len(head):
            raise unreadable(path, f"line {line} has {len(row)} values, the head {len(head)}")
    return head, [(line, dict(zip(head, row, strict=True))) for line, row in rows]


def read_text(path: Path) -> str:
    """Read a text file; ValueError in one line if it is not one. A pipe would never end."""
    try:
        if path.exists() and not path.is_file():
            raise unreadable(path, "it is not a file")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error) from None


def model_of(name: str, items: Iterable[Field[Any]]) -> type[BaseModel]:
    """Make the model of a row: each column is held to its type, and some to more than that."""
    kinds: dict[str, Any] = {
        item.name: (
            NARROWER.get(item.name, KINDS[str(item.type)]),
            ... if item.default is MISSING or item.type == "int" else item.default,
        )
        for item in items
    }
    return create_model(name, __config__=ConfigDict(strict=True, extra="forbid"), **kinds)


ROW = model_of("Row", COLUMNS.values())
FINDING_ROW = model_of("FindingRow", fields(Finding))


def check(model: type[BaseModel], values: Any) -> dict[str, Any]:
    """Return the values that a model takes; ValueError in one line that names the key."""
    try:
        return model.model_validate(values).model_dump(exclude_unset=True)
    except ValidationError as error:
        fields = ", ".join(model.model_fields)
        raise ValueError(explain(error, place=dotted, valid=lambda place: fields)) from None


def check_samples(values: Any) -> list[list[float]]:
    """Return the samples of a cell, one list per replica; ValueError in one line."""
    try:
        return SAMPLES.validate_python(values)
    except ValidationError as error:
        fault = explain(error, place=lambda place: dotted(("samples", *place)), valid=dotted)
        raise ValueError(fault) from None


def dotted(place: tuple[int | str, ...]) -> str:
    """Write where a fault lies: `settings.replicas`; pydantic's own words for types are cut."""
    return ".".join(str(part) for part in place if not str(part).startswith("tuple["))


def parse_row(row: dict[str, str]) -> dict[str, Any]:
    """Turn the text of one CSV row into the types of the schema.

    Columns that came later than the file are absent in it, as they are in an old journal, and
    columns that this program does not know are left out. An empty text is an absent value.
    """
    return {
        name: _parse(name, text, str(COLUMNS[name].type))
        for name, text in row.items()
        if name in COLUMNS
    }


def _parse(name: str, text: str, kind: str) -> Any:
    if text == "":
        return "" if kind == "str" else None
    try:
        return PARSERS[kind.removesuffix(" | None")](text)
    except (ValueError, KeyError):
        wanted = f"must be {WORDS[kind.removesuffix(' | None')]}"
        raise ValueError(f"{name} = {shown(text)}: {wanted}") from None
