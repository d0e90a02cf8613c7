"""Behaviours: one file per kind; importing this package fills the one list, without torch."""

# In the order of tables: what the article says, then the troubles people have met.
# isort: off
from harness.attention.behaviours import example
from harness.attention.behaviours import masks
from harness.attention.behaviours import positions
from harness.attention.behaviours import layer
from harness.attention.behaviours import numerics
from harness.attention.behaviours import empty_rows
from harness.attention.behaviours import causal
from harness.attention.behaviours import scales
from harness.attention.behaviours import infinities
from harness.attention.behaviours import sizes
from harness.attention.behaviours import layouts
from harness.attention.behaviours import gradients
from harness.attention.behaviours import dtypes
# isort: on

from harness.attention.behaviours.behaviour import BEHAVIOURS

__all__ = [
    "BEHAVIOURS", "causal", "dtypes", "empty_rows", "example", "gradients", "infinities", "layer",
    "layouts", "masks", "numerics", "positions", "scales", "sizes",
]  # fmt: skip
