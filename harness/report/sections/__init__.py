"""The sections of a report in order: title, and where the function is that writes it.

A section takes the view and the gallery of figures, and gives Markdown. One line here adds one.
"""

from __future__ import annotations

from importlib import import_module

from harness.report.figures.canvas import Gallery
from harness.report.view import View

SECTIONS = {
    "Verdicts": "verdicts:verdicts_section",
    "Agreement": "verdicts:agreement_section",
    "Behaviour": "verdicts:conformance_section",
    "Time": "cost:time_section",
    "Peak memory": "cost:memory_section",
    "Score matrices: predicted and measured": "verdicts:scores_section",
    "Throughput": "cost:throughput_section",
    "Speed-up over the baseline": "cost:speedup_section",
    "Training": "training:training_section",
    "Masks": "axes:masks_section",
    "Heads and batch": "axes:heads_section",
    "Precision": "axes:precision_section",
    "Layers, recurrence, generation": "works:works_section",
    "Evidence by claim": "verdicts:evidence_section",
    "What was not measured, and why": "run:missing_section",
    "Noise": "run:noise_section",
    "Settings": "run:settings_section",
    "How to read this, and how to rebuild it": "run:reading_section",
}


def write_section(title: str, view: View, gallery: Gallery) -> str:
    """Return one section without its heading; its figures are written on the way."""
    module, function = SECTIONS[title].split(":")
    section = getattr(import_module(f"{__name__}.{module}"), function)
    return str(section(view, gallery))
