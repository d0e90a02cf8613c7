"""Behaviours: one file per kind; importing this package fills the one list, without torch."""

# In the order of tables: what the article says, then the troubles people have met.
# ruff: noqa: F401, I001
from harness.attention.behaviours import example
from harness.attention.behaviours import masks
from harness.attention.behaviours import layer
from harness.attention.behaviours import numerics
from harness.attention.behaviours import empty_rows
from harness.attention.behaviours import causal
from harness.attention.behaviours import extremes
from harness.attention.behaviours import layouts
from harness.attention.behaviours import gradients

from harness.attention.behaviours.behaviour import BEHAVIOURS as BEHAVIOURS
