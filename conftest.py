"""Load the suite's plugin; everything else lies in harness/plugin.py."""

pytest_plugins = ["harness.plugin"]
