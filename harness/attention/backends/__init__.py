"""Backends: one file per family; importing this package fills the one list, without torch."""

# In the order of tables: from the plain formula to the fused kernels. One line adds a file.
# ruff: noqa: F401, I001
from harness.attention.backends import naive
from harness.attention.backends import tiled
from harness.attention.backends import sdpa
from harness.attention.backends import xformers
from harness.attention.backends import flash_attn
from harness.attention.backends import flex
from harness.attention.backends import layer as packed
from harness.attention.backends import layer
from harness.attention.backends import generation

from harness.attention.backend import BACKENDS as BACKENDS
