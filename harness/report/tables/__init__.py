"""Frames of text as people see them; Markdown and the terminal print the same ones."""

from harness.report.panels import choose_lengths as choose_lengths
from harness.report.tables.noise import flag_table as flag_table
from harness.report.tables.noise import noise_table as noise_table
from harness.report.tables.outcomes import agreement_table as agreement_table
from harness.report.tables.outcomes import cells_table as cells_table
from harness.report.tables.outcomes import missing_table as missing_table
from harness.report.tables.outcomes import status_counts as status_counts
from harness.report.tables.pivots import memory_pivot as memory_pivot
from harness.report.tables.pivots import rate_pivot as rate_pivot
from harness.report.tables.pivots import time_pivot as time_pivot
from harness.report.tables.settings import settings_table as settings_table
from harness.report.tables.sweeps import axis_pivot as axis_pivot
from harness.report.tables.training import held_pivot as held_pivot
from harness.report.tables.training import training_frames as training_frames
from harness.report.tables.training import training_table as training_table
from harness.report.tables.verdicts import claims_table as claims_table
from harness.report.tables.verdicts import scores_table as scores_table
from harness.report.tables.verdicts import series_table as series_table
from harness.report.tables.works import position_pivot as position_pivot
from harness.report.tables.works import ratio_table as ratio_table
from harness.report.tables.works import share_table as share_table
