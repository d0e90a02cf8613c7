"""Commands: what `python -m harness` offers, one file for each kind of question."""
