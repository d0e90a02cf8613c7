"""Exports: a run in the file formats of other tools."""
