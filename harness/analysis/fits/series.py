"""Series: sweeps over T out of the cells, all else fixed, and what each one fits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import compress, groupby, pairwise
from typing import TYPE_CHECKING, Any, Self

from harness.analysis.fits.memory_fit import MemoryFit, fit_memory
from harness.analysis.fits.time_fit import TimeFit, fit_time
from harness.cases.shape import FIXED, Fixed
from harness.records.record import Record, Status

if TYPE_CHECKING:
    pass

LENGTHS_LEAST = 4
# CUDA's caching allocator hands out multiples of 512 bytes.
CUDA_ROUNDING = 512
# A sweep attends w T - w²/2 pairs: at four windows the curve is an eighth under its straight line.
WINDOWS_LEAST = 4


@dataclass(frozen=True, kw_only=True)
class SeriesKey(Fixed):
    """Name all that stays fixed in a sweep over T: the axes of a case but its lengths."""

    backend: str

    @classmethod
    def of(cls, record: Record) -> Self:
        """Take the key of one cell."""
        return cls(**{item.name: getattr(record, item.name) for item in fields(cls)})

    def with_(self, **values: Any) -> Self:
        """Return a copy with some fields changed."""
        return replace(self, **values)

    def sort_key(self) -> tuple[str, ...]:
        """Order keys by their names, then by their numbers, by size."""
        values = (getattr(self, name) for name in ("backend", *FIXED))
        return tuple(f"{value:09d}" if isinstance(value, int) else str(value) for value in values)


def is_ok(record: Record) -> bool:
    """Whether the cell agreed with the oracle, so that its figures count."""
    return record.status == Status.OK


def is_square(record: Record) -> bool:
    """Whether the cell is self-attention: as many queries as keys."""
    return record.length_query == record.length_key


@dataclass(frozen=True)
class LengthSeries:
    """Hold one sweep; a length that gave no value (out of memory, refused) holds None.

    `medians` [lengths][replicas] in seconds, `peaks`, `flops` and `mask_bytes` [lengths];
    `spreads` [lengths] is what an A/A run saw between processes, relative, 0 where none did.
    """

    key: SeriesKey
    kernel: str | None
    lengths: tuple[int, ...]
    medians: tuple[tuple[float, ...] | None, ...]
    peaks: tuple[int | None, ...]
    flops: tuple[int | None, ...]
    mask_bytes: tuple[int | None, ...] = ()
    spreads: tuple[float, ...] = ()

    @classmethod
    def of(
        cls,
        key: SeriesKey,
        kernel: str | None,
        *,
        cells: Sequence[Record],
        spreads: Mapping[str, float] | None = None,
    ) -> Self:
        """Make a series of cells in the order of their length; `spreads` are by cell."""
        return cls(
            key,
            kernel,
            tuple(cell.length_query for cell in cells),
            tuple(cell.replica_medians_s if is_ok(cell) else None for cell in cells),
            tuple(cell.peak_bytes if is_ok(cell) else None for cell in cells),
            tuple(cell.flops if is_ok(cell) else None for cell in cells),
            tuple(cell.mask_bytes if is_ok(cell) else None for cell in cells),
            tuple((spreads or {}).get(cell.cell, 0.0) for cell in cells),
        )

    def only(self, lengths: Collection[int]) -> LengthSeries:
        """Keep the given lengths."""
        keep = [length in lengths for length in self.lengths]
        return replace(
            self,
            lengths=tuple(compress(self.lengths, keep)),
            medians=tuple(compress(self.medians, keep)),
            peaks=tuple(compress(self.peaks, keep)),
            flops=tuple(compress(self.flops, keep)),
            mask_bytes=tuple(compress(self.mask_bytes, keep)),
            spreads=tuple(compress(self.spreads, keep)),
        )

    @property
    def replicas(self) -> int:
        """Fewest worker processes that timed a length; 0 if none did."""
        return min((len(medians) for medians in self.medians if medians), default=0)


@dataclass(frozen=True)
class SeriesFit:
    """Hold one sweep with what its times and its peaks say; None where nothing was measured."""

    series: LengthSeries
    time: TimeFit | None
    memory: MemoryFit | None


def sweeps(
    records: Iterable[Record], spreads: Mapping[str, float] | None = None
) -> list[LengthSeries]:
    """Return every sweep of at least 4 square lengths, in the order of the key, then of T.

    Cells with fewer keys than queries, or more, are other questions and left out. A change of the
    recorded kernel splits a sweep. `spreads` is {cell: relative noise of one process}, as an A/A
    run saw it: no cell is taken to be quieter. ValueError if two rows have one key and length.
    """
    groups: defaultdict[SeriesKey, list[Record]] = defaultdict(list)
    for record in filter(is_square, records):
        groups[SeriesKey.of(record)].append(record)
    keys = sorted(groups, key=SeriesKey.sort_key)
    return [series for key in keys for series in split(key, groups[key], spreads=spreads)]


def split(
    key: SeriesKey, cells: list[Record], *, spreads: Mapping[str, float] | None = None
) -> list[LengthSeries]:
    """Cut the cells of one key where the kernel changes; parts under 4 lengths are dropped.

    A cell without a recorded kernel goes with its smaller neighbour: not seen is not changed.
    """
    cells = sorted(cells, key=lambda cell: cell.length_query)
    for left, right in pairwise(cells):
        if left.length_query == right.length_query:
            raise ValueError(f"two rows for {right.cell} on {key.device}: they differ in no axis")
    kernel = next((cell.kernel for cell in cells if cell.kernel), None)
    seen = [(kernel := cell.kernel or kernel, cell) for cell in cells]
    parts = [
        LengthSeries.of(key, name, cells=[cell for _, cell in group], spreads=spreads)
        for name, group in groupby(seen, key=lambda pair: pair[0])
    ]
    return [part for part in parts if len(part.lengths) >= LENGTHS_LEAST]


def fit_series(series: LengthSeries) -> SeriesFit:
    """Fit one sweep."""
    return SeriesFit(series, time_fit(series), memory_fit(series))


def time_fit(series: LengthSeries) -> TimeFit | None:
    """Fit the times of a sweep, a sliding window's from four windows on; None without a time."""
    least = WINDOWS_LEAST * (series.key.window or 0)
    spreads = series.spreads or (0.0,) * len(series.lengths)
    rows = [
        row
        for row in zip(series.lengths, series.medians, series.flops, spreads, strict=True)
        if row[1] and row[0] >= least
    ]
    if not rows:
        return None
    lengths, medians, flops, noise = zip(*rows, strict=True)
    return fit_time(lengths, medians, flops=None if None in flops else flops, spreads=noise)


def memory_fit(series: LengthSeries) -> MemoryFit | None:
    """Fit the peaks of a sweep; None without a peak."""
    rows = [row for row in zip(series.lengths, series.peaks, strict=True) if row[1] is not None]
    if not rows:
        return None
    lengths, peaks = zip(*rows, strict=True)
    rounding = CUDA_ROUNDING if series.key.device.startswith("cuda") else 0
    return fit_memory(lengths, peaks, rounding=rounding)
