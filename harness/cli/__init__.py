"""The doors: the hooks of pytest and the commands of `python -m harness`."""
