"""The backends: one file per family, one import line each."""

from harness.attention.backend import BACKENDS as BACKENDS
