"""The sections of a report, one function each: view and gallery in, Markdown out."""

from harness.report.sections.axes import heads_section as heads_section
from harness.report.sections.axes import masks_section as masks_section
from harness.report.sections.axes import precision_section as precision_section
from harness.report.sections.cost import memory_section as memory_section
from harness.report.sections.cost import speedup_section as speedup_section
from harness.report.sections.cost import throughput_section as throughput_section
from harness.report.sections.cost import time_section as time_section
from harness.report.sections.run import missing_section as missing_section
from harness.report.sections.run import noise_section as noise_section
from harness.report.sections.run import reading_section as reading_section
from harness.report.sections.run import settings_section as settings_section
from harness.report.sections.training import training_section as training_section
from harness.report.sections.verdicts import agreement_section as agreement_section
from harness.report.sections.verdicts import conformance_section as conformance_section
from harness.report.sections.verdicts import evidence_section as evidence_section
from harness.report.sections.verdicts import scores_section as scores_section
from harness.report.sections.verdicts import verdicts_section as verdicts_section
from harness.report.sections.works import works_section as works_section
