"""Panels: rows that belong in one table or figure, and their fits in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from harness.cases.masks import MASK_CODES
from harness.cases.shape import (
    DTYPE_CODES,
    FIXED,
    ITEM_SIZES,
    OPTIONAL,
    PHASE_CODES,
    WORK_CODES,
    Fixed,
    further_codes,
)
from harness.report.words import units

if TYPE_CHECKING:
    import pandas as pd

    from harness.analysis.fits.series import SeriesFit

LENGTHS = ["length_query", "length_key"]
SHARED = list(FIXED)
REASONS = {"few": "too few lengths", "floor": "near the floor", "misfit": "no law fits"}


@dataclass(frozen=True, kw_only=True)
class Panel(Fixed):
    """Say what all rows of a panel share; length and backend are free."""

    @classmethod
    def of(cls, source: Any) -> Self:
        """Take the shared fields from a row or a series key."""
        values = {name: _native(getattr(source, name)) for name in FIXED}
        for name in OPTIONAL:
            values[name] = None if _absent(values[name]) else int(values[name])
        return cls(**values)

    def shape(self, without: str = "") -> str:
        """Return the shape in short, `B=1 H=4 D=64`, without a swept axis."""
        parts = {"batch": f"B={self.batch}", "heads": f"H={self.heads}"}
        if self.heads_kv != self.heads and without != "heads":
            parts["heads_kv"] = f"H_kv={self.heads_kv}"
        parts["dim_key"] = f"D={self.dim_key}"
        if self.dim_value != self.dim_key or without == "dim_key":
            parts["dim_value"] = f"D_v={self.dim_value}"
        shown = [text for name, text in parts.items() if name != without]
        return " ".join([*shown, *further_codes(self)])

    def title(self, *, without: str = "", length: int | None = None) -> str:
        """Say what the rows share: device, dtype, mask, phase, shape, and a fixed length."""
        window = f" of {self.window}" if self.window else ""
        parts = {"work": self.work} if self.work != "attention" else {}
        parts |= {
            "device": self.device, "dtype": self.dtype, "mask": f"{self.mask} mask{window}",
            "phase": self.phase.replace("_", " + "),
        }  # fmt: skip
        names = [text for name, text in parts.items() if name != without]
        at = f" T={length}" if length else ""
        return f"{', '.join(names)}, {self.shape(without)}{at}"

    @property
    def slug(self) -> str:
        """A short name for files."""
        groups = f"g{self.heads_kv}-" if self.heads_kv != self.heads else ""
        value = f"v{self.dim_value}-" if self.dim_value != self.dim_key else ""
        shape = f"b{self.batch}-h{self.heads}-{groups}d{self.dim_key}-{value}"
        mask = f"{MASK_CODES.get(self.mask, 'mask')}{self.window or ''}"
        names = f"{PHASE_CODES.get(self.phase, 'phase')}-{shape}"
        device = "".join(sign for sign in self.device if sign.isalnum())
        work = WORK_CODES.get(self.work, "work-")
        further = "".join(f"{code}-" for code in further_codes(self))
        return f"{work}{names}{further}{DTYPE_CODES.get(self.dtype, 'dtype')}-{mask}-{device}"

    @property
    def rank(self) -> tuple[Any, ...]:
        """Sort key: forward before backward, full before masked, wide types before narrow."""
        orders = (PHASE_CODES, MASK_CODES, DTYPE_CODES)
        names = (self.phase, self.mask, self.dtype)
        places = [
            list(order).index(name) if name in order else len(order)
            for order, name in zip(orders, names, strict=True)
        ]
        work = list(WORK_CODES).index(self.work) if self.work in WORK_CODES else len(WORK_CODES)
        return (self.device, work, *places, self.batch, self.heads, self.heads_kv, self.slug)


def distinct(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per backend and case; of a cell that two suites asked for, the last."""
    return table.drop_duplicates(["backend", *SHARED, *LENGTHS], keep="last")


def length_panels(table: pd.DataFrame) -> list[tuple[Panel, pd.DataFrame]]:
    """Return the panels with at least two lengths measured, the richest first."""
    rows = distinct(table)
    found = []
    for _, frame in _groups(rows[rows["length_query"] == rows["length_key"]], SHARED):
        measured = frame[frame["time_median_s"].notna() | frame["peak_bytes"].notna()]
        if measured["length_query"].nunique() >= 2:
            found.append((Panel.of(next(frame.itertuples())), frame))
    return sorted(found, key=lambda pair: (-pair[1]["length_query"].nunique(), pair[0].rank))


def axis_panel(table: pd.DataFrame, axis: str) -> tuple[Panel, pd.DataFrame] | None:
    """Return the richest set of rows that differ in one axis alone, or None.

    Without a mask if there is a choice. Key heads follow the query heads (their ratio is what
    stays fixed); a window follows its mask.
    """
    rows = distinct(table)
    free = {"heads": {"heads", "heads_kv"}, "mask": {"mask", "window"}}.get(axis, {axis})
    fixed = [rows[name] for name in (*SHARED, *LENGTHS) if name not in free]
    fixed.append(rows["heads"] // rows["heads_kv"])
    label = rows.groupby(fixed, dropna=False, sort=True).ngroup()
    timed = rows["time_median_s"].notna()
    values = rows.loc[timed, axis].groupby(label[timed]).nunique()
    if not (values >= 2).any():
        return None
    sizes = label[timed].value_counts()
    lengths = rows["length_query"].groupby(label).max()
    plain = (rows["mask"] == "full").groupby(label).max()
    best = max(values.index, key=lambda one: (values[one], plain[one], sizes[one], lengths[one]))
    frame = rows[label == best]
    return Panel.of(next(frame[frame["time_median_s"].notna()].itertuples())), frame


def _groups(frame: pd.DataFrame, names: list[str]) -> Iterator[tuple[Any, pd.DataFrame]]:
    yield from frame.groupby(names, dropna=False, sort=True)


def _absent(value: Any) -> bool:
    return value is None or str(value) in ("<NA>", "nan")


def _native(value: Any) -> Any:
    """Turn numpy's numbers into Python's, so that panels compare and hash alike."""
    return value.item() if hasattr(value, "item") else value


def choose_lengths(lengths: Sequence[int], count: int) -> list[int]:
    """Choose at most `count` lengths, evenly spread, both ends among them; powers of two first."""
    known = sorted(set(lengths))
    if len(known) <= count:
        return known
    powers = [length for length in known if length & (length - 1) == 0]
    pool = powers if len(powers) >= count and powers[-1] == known[-1] else known
    if count < 2:
        return pool[-count:] if count else []
    steps = [round(place * (len(pool) - 1) / (count - 1)) for place in range(count)]
    return [pool[step] for step in steps]


FitIndex = dict[tuple[Panel, str], "SeriesFit"]


def index_fits(fits: Iterable[SeriesFit]) -> FitIndex:
    """Find fits by panel and backend; where a kernel changed, the part with the longest T."""
    ordered = sorted(fits, key=lambda fit: max(fit.series.lengths, default=0))
    return {(Panel.of(fit.series.key), fit.series.key.backend): fit for fit in ordered}


def exponent_text(found: SeriesFit | None) -> str:
    """Write the exponent of time with its interval, and why it does not count if so."""
    fit = found.time if found else None
    if fit is None:
        return units.ABSENT
    text = units.interval(fit.exponent, fit.low, fit.high)
    if fit.reason is None:
        return text
    reason = REASONS.get(fit.reason, fit.reason)
    return reason if text == units.ABSENT else f"{text} ({reason})"


def exponent_note(found: SeriesFit | None) -> str:
    """Write the exponent for a legend: the interval, or in its place why it does not count."""
    fit = found.time if found else None
    if fit is None:
        return units.ABSENT
    if fit.reason is not None:
        return REASONS.get(fit.reason, fit.reason)
    return units.interval(fit.exponent, fit.low, fit.high)


def matrices_of(found: SeriesFit | None, panel: Panel) -> float | None:
    """Return the score matrices alive at the peak: the T² term over the bytes of one."""
    fit = found.memory if found else None
    itemsize = ITEM_SIZES.get(panel.dtype)
    if fit is None or itemsize is None or fit.reason is not None:
        return None
    return units.number(
        fit.score_matrices(batch=panel.batch, heads=panel.heads, itemsize=itemsize)
    )


def matrices_text(found: SeriesFit | None, panel: Panel) -> str:
    """Write the number of score matrices: `2.00`, or `none` for a peak without a T² term."""
    count = matrices_of(found, panel)
    if count is None:
        return units.ABSENT
    return "none" if abs(count) < 0.005 else f"{count:.2f}"


def law_text(found: SeriesFit | None) -> str:
    """Write the law of the peak in bytes: `32 T² + 1,028 T + 4`."""
    fit = found.memory if found else None
    if fit is None or fit.reason is not None:
        return units.ABSENT
    powers = zip(reversed(fit.coefficients), (" T²", " T", ""), strict=True)
    terms = [f"{_coefficient(value)}{power}" for value, power in powers if abs(value) >= 5e-4]
    return " + ".join(terms).replace("+ -", "- ") or "0"


def _coefficient(value: float) -> str:
    nearest = round(value)
    return f"{nearest:,}" if abs(value - nearest) < 5e-4 else units.significant(value, digits=4)
