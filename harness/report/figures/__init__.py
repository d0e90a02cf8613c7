"""Figures of a run as PNG files; the same table gives the same bytes."""

from harness.report.figures.canvas import write_png as write_png
from harness.report.figures.lines import ratio_figure as ratio_figure
from harness.report.figures.over_axes import dots_figure as dots_figure
from harness.report.figures.over_axes import noise_figure as noise_figure
from harness.report.figures.over_axes import sweep_figure as sweep_figure
from harness.report.figures.over_length import memory_figure as memory_figure
from harness.report.figures.over_length import throughput_figure as throughput_figure
from harness.report.figures.over_length import time_figure as time_figure
