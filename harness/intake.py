"""Intake: what a run's files may hold, held against the schema where they come in.

Numbers are finite and fit a table of 64 bits, texts lose their control characters, names of
outcomes, masks and types are those that this program knows.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    create_model,
)

from harness.case import DTYPE_CODES, MASK_CODES, PHASE_CODES, WORK_CODES
from harness.faults import explain, printable, shown
from harness.reading import WHOLE_MOST
from harness.record import COLUMNS, Status

SHAPE_MOST = 2**31 - 1  # what torch takes for the size of one axis of a kernel's grid
# Times outside are faults of a file: light goes 0.3 mm in a picosecond, and 1e9 s are 31 years.
SECONDS_LEAST, SECONDS_MOST = 1e-12, 1e9

Line = Annotated[str, AfterValidator(printable)]
Size = Annotated[int, Field(gt=0, le=SHAPE_MOST)]
Count = Annotated[int, Field(ge=0, le=WHOLE_MOST)]
Number = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=SECONDS_LEAST, le=SECONDS_MOST)]
Medians = Annotated[tuple[Seconds, ...], Field(strict=False)]

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
FIELDS: dict[str, Any] = {
    name: (NARROWER.get(name, KINDS[str(item.type)]), ... if item.type == "int" else item.default)
    for name, item in COLUMNS.items()
}
ROW = create_model("Row", __config__=ConfigDict(strict=True, extra="forbid"), **FIELDS)
SAMPLES = TypeAdapter(list[list[Number]], config=ConfigDict(strict=True))


class FindingRow(BaseModel):
    """Say what a row of conformance.csv holds."""

    model_config = ConfigDict(strict=True, extra="forbid")

    backend: Line
    behaviour: Line
    device: Line
    dtype: Line
    expected: Line | None = None
    observed: Line | None = None
    verdict: Line
    reason: Line | None = None


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


PARSERS: dict[str, Any] = {
    "str": str, "int": int, "float": float, "bool": {"True": True, "False": False}.__getitem__,
    "tuple[float, ...]": lambda text: tuple(float(part) for part in text.split()),
}  # fmt: skip
WORDS = {
    "int": "a whole number", "float": "a number", "bool": "True or False",
    "tuple[float, ...]": "numbers with blanks between them",
}  # fmt: skip
