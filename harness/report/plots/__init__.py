"""Figures of a run as PNG files; the same table gives the same bytes."""

from harness.report.plots.axes import sweep_figure as sweep_figure
from harness.report.plots.canvas import write_png as write_png
from harness.report.plots.dots import dots_figure as dots_figure
from harness.report.plots.memory import memory_figure as memory_figure
from harness.report.plots.noise import noise_figure as noise_figure
from harness.report.plots.ratios import ratio_figure as ratio_figure
from harness.report.plots.throughput import throughput_figure as throughput_figure
from harness.report.plots.time import time_figure as time_figure
