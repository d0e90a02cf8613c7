from __future__ import annotations

import struct
from pathlib import Path

import pytest

from harness.cases.case import Case
from harness.records.tables import make_table
from harness.report import figures as plots
from harness.report import palette
from harness.report.figures.canvas import DPI, HEIGHT, WIDTH, points
from harness.report.figures.lines import draw_lines, from_top
from harness.report.panels import axis_panel
from harness.report.tables.noise import noise_frame
from harness.report.view import View
from tests.support.made_runs import cell


def png_size(path: Path) -> tuple[int, int]:
    return struct.unpack(">II", path.read_bytes()[16:24])


def test_the_time_figure_marks_what_did_not_fit(view: View, tmp_path: Path) -> None:
    panel, frame = view.panels[0]
    figure = plots.time_figure(panel, frame, fits=view.index)
    assert figure is not None
    main, strip = figure.axes
    assert main.get_xlim() == strip.get_xlim()
    assert [label.get_text() for label in strip.get_yticklabels()] == ["naive", "sdpa-math"]
    plots.write_png(figure, tmp_path / "time.png")
    width, height = png_size(tmp_path / "time.png")
    assert width == round(WIDTH * DPI)
    assert height > HEIGHT * DPI


def test_ticks_are_the_lengths_that_were_measured(view: View) -> None:
    panel, frame = view.panels[0]
    figure = plots.memory_figure(panel, frame, fits=view.index)
    assert figure is not None
    ticks = [int(value) for value in figure.axes[0].get_xticks()]
    assert ticks == sorted(set(frame["length_query"]))
    assert not len(figure.axes[0].get_xticks(minor=True))


def test_the_legend_names_score_matrices(view: View) -> None:
    panel, frame = view.panels[0]
    figure = plots.memory_figure(panel, frame, fits=view.index)
    assert figure is not None
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "naive   2.00" in texts
    assert "sdpa-math   2.25" in texts
    assert "sdpa-flash   none" in texts


def test_a_missing_backend_shifts_no_colours(view: View) -> None:
    panel, frame = view.panels[0]
    fewer = frame[~frame["backend"].isin(["naive", "rowwise"])]
    for part in (frame, fewer):
        figure = plots.memory_figure(panel, part, fits=view.index)
        assert figure is not None
        colours = {line.get_color() for line in figure.axes[0].get_lines()}
        assert palette.style("sdpa-flash").colour in colours
        assert (palette.style("naive").colour in colours) is (part is frame)


def test_two_series_in_one_line_are_refused(view: View) -> None:
    frame = points(view.table, "length_query", "median")
    figure = plots.canvas.new_figure()
    with pytest.raises(AssertionError, match="forgotten"):
        draw_lines(figure.add_subplot(), frame, x="length", y="median")


def test_the_legend_follows_the_lines(view: View) -> None:
    data = points(view.panels[0][1], "length_query", "median")
    names = from_top(data, "median")
    assert names[:3] == ["rowwise", "sdpa-math", "naive"]


def test_the_ceiling_has_its_own_axis(view: View) -> None:
    panel, frame = view.panels[0]
    with_ceiling = plots.throughput_figure(panel, frame, ceiling=98e9)
    without = plots.throughput_figure(panel, frame, ceiling=None)
    assert with_ceiling is not None
    assert without is not None
    assert len(with_ceiling.axes[0].child_axes) == 1
    assert not without.axes[0].child_axes
    assert "no ceiling" in without.texts[0].get_text() + without.texts[-1].get_text()


def test_nothing_to_show_is_no_figure(view: View) -> None:
    panel, frame = view.panels[0]
    one = frame[frame["length_query"] == 64]
    lost = frame[frame["status"] != "ok"]
    for part in (one, lost):
        assert plots.time_figure(panel, part, fits={}) is None
        assert plots.memory_figure(panel, part, fits={}) is None
        assert plots.throughput_figure(panel, part, ceiling=None) is None
        assert plots.sweep_figure(part, "heads", subtitle="") is None
    noise = noise_frame(lost)
    assert plots.noise_figure(noise, device="cpu", target=0.02) is None


def test_strangers_and_long_names_are_drawn(tmp_path: Path) -> None:
    made = []
    for length in (64, 128, 256):
        record, _ = cell("naive", "length", Case.square(length), "x")
        made += [record, type(record)(**record.as_dict() | {"backend": "a-very-long-name-" * 3})]
    from harness.report.panels import length_panels

    panel, frame = length_panels(make_table(made))[0]
    figure = plots.time_figure(panel, frame, fits={})
    assert figure is not None
    plots.write_png(figure, tmp_path / "long.png")
    assert all(len(text.get_text()) < 25 for text in figure.legends[0].get_texts())


def test_nothing_drawn_leaves_the_paper(view: View) -> None:
    panel, frame = view.panels[0]
    found = axis_panel(view.table, "mask")
    assert found is not None
    figures = [
        plots.time_figure(panel, frame, fits=view.index),
        plots.throughput_figure(panel, frame, ceiling=98e9),
        plots.dots_figure(
            found[1], "mask", styles=palette.MASK_STYLES, title="Time by mask", subtitle="x"
        ),
    ]
    for figure in figures:
        assert figure is not None
        box = figure.get_tightbbox()
        width, height = figure.get_size_inches()
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= width
        assert box.y1 <= height
