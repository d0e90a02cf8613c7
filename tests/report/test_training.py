"""The section on training: times by phase, the ratio, the peak, and what is held."""

from __future__ import annotations

from pathlib import Path

from harness.cases.case import Case
from harness.records.record import Record, Status
from harness.report.figures.canvas import Gallery
from harness.report.sections.training import (
    held_pivot,
    training_frames,
    training_section,
    training_table,
)
from harness.report.view import View
from tests.support.made_runs import write_run
from tests.support.sweep_tables import dense, failed, measured, table_of


def both(length: int, phases: tuple[str, ...]) -> list[Record]:
    """Make naive and a fused kernel: backward takes 2 and 2.5 times forward."""
    made = []
    for backend, share in (("naive", {"backward": 2.0}), ("sdpa-flash", {"backward": 2.5})):
        for phase in phases:
            case = Case.square(length, phase=phase)
            times = {"forward": 1.0, "forward_backward": 1 + share["backward"]} | share
            held = 16 * length**2 + 2048 * length if backend == "naive" else 1040 * length
            made.append(
                measured(
                    backend, case, noise=0.0, peak=lambda _, held=held: 2 * held,
                    seconds=lambda case, times=times: 1e-3 * times[case.phase],
                    held_bytes=None if phase == "forward" else held,
                )
            )  # fmt: skip
    return made


def run_of_all() -> list[Record]:
    every = ("forward", "backward", "forward_backward")
    cells = [*both(256, every), *both(512, every)]
    for length in (128, 1024):
        cells += both(length, ("forward_backward",))
    lost = Case.square(512, phase="backward")
    cells.append(failed("tiled", lost, status=Status.UNSUPPORTED, reason="forward only"))
    cells.append(failed("rowwise", lost, status=Status.DISAGREES, reason="gradient of key"))
    return cells


def test_the_largest_shape_with_every_phase_comes_first() -> None:
    frames = training_frames(table_of(run_of_all()))
    assert [int(frame["length_query"].iloc[0]) for frame in frames] == [512, 256, 1024, 128]
    assert set(frames[0]["phase"]) == {"forward", "backward", "forward_backward"}


def test_times_ratio_and_bytes_of_a_shape() -> None:
    table = training_table(training_frames(table_of(run_of_all()))[0])
    rows = {row[0]: row[1:] for row in table.itertuples(index=False, name=None)}
    assert list(rows) == ["naive", "rowwise", "sdpa-flash"], "tiled has nothing to show"
    assert rows["naive"] == (
        "1.00 ms", "2.00 ms", "3.00 ms", "2.00× [2.00, 2.00]", "2×", "10.5 MB", "5.24 MB",
    )  # fmt: skip
    assert rows["sdpa-flash"][3:5] == ("2.50× [2.50, 2.50]", "2.5×, 2× of it useful")
    assert rows["rowwise"] == ("-", "disagrees", "-", "-", "2×", "disagrees", "disagrees")


def test_bytes_held_against_length() -> None:
    cells = [cell for cell in run_of_all() if cell.phase == "forward_backward"]
    table = held_pivot(table_of(cells))
    assert table["score matrices held"].tolist() == ["1.00", "none"]
    assert table["law (bytes)"].tolist() == ["16 T² + 2,048 T", "1,040 T"]
    assert table["T=128"].tolist() == ["524 kB", "133 kB"]


def test_the_section_says_what_is_counted(tmp_path: Path) -> None:
    run = write_run(tmp_path / "made", cells=[(cell, []) for cell in run_of_all()])
    text = training_section(View(run, [], []), Gallery(tmp_path))
    assert "backward counts twice forward" in text
    assert "2.5 times forward's work" in text
    assert "](figures/training.png)" in text
    assert (tmp_path / "figures/training.png").stat().st_size > 10_000
    assert text.count("<details>") == 3
    assert "score matrices held" in text


def test_a_run_without_backward_says_so(tmp_path: Path) -> None:
    cells = [(measured("naive", Case.square(64), seconds=dense), [])]
    run = write_run(tmp_path / "made", cells=cells)
    text = training_section(View(run, [], []), Gallery(tmp_path))
    assert text == "Not shown: no backward was timed."
