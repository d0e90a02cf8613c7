"""Frames of text as people see them; Markdown and the terminal print the same ones."""
