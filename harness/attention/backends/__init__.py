"""Backends: one file per family; importing this package fills the one list, without torch."""

# In the order of tables: from the plain formula to the fused kernels.
# isort: off
from harness.attention.backends import naive
from harness.attention.backends import rowwise
from harness.attention.backends import tiled
from harness.attention.backends import sdpa
from harness.attention.backends import xformers
from harness.attention.backends import flash_attn
from harness.attention.backends import flex
# isort: on

from harness.attention.backend import BACKENDS

__all__ = ["BACKENDS", "flash_attn", "flex", "naive", "rowwise", "sdpa", "tiled", "xformers"]
