"""Options of pytest: what `--attn-*`, the environment and pyproject say, as one run's settings."""

from __future__ import annotations

from typing import Any

import pytest

from harness.records.remote.download import from_environment
from harness.run.settings import Settings, resolve

OPTIONS = {
    "grid": ("NAME|FILE.toml", "what to measure (default: quick on a CPU, standard on a GPU)"),
    "device": ("auto|cpu|cuda|cuda:N", "where to measure (default: auto)"),
    "backends": ("A,B", "only these backends (default: all that the grid names)"),
    "baseline": ("NAME", "the backend that ratios compare with (default: naive)"),
    "results": ("DIR|URL", "folder of runs, or e.g. s3://bucket/results (default: results)"),
    "reports": ("DIR", "folder of reports (default: reports)"),
    "replicas": ("N", "worker processes that measure each cell (default: the grid's)"),
    "precision": ("X", "relative half-width at which timing stops, e.g. 0.02"),
    "timeout": ("S", "seconds after which a call counts as hung"),
    "memory-limit": ("GIB", "refuse cells that would need more (default: what is free)"),
    "require": ("A,B", "fail if one of these backends is unavailable"),
    "resume": ("RUN", "go on with a run that was cut (latest: the newest)"),
    "confirm": ("RUN", "measure again what looks slower in a run, in fresh processes"),
    "pool": ("local|inline", "worker processes, or this process for debugging"),
}
IN_ENVIRONMENT = ("results", "device", "grid")
IN_PYPROJECT = ("grid", "device", "backends", "results")
SETTINGS = pytest.StashKey[Settings]()


def add_options(parser: pytest.Parser) -> None:
    """Add the options of the group "attention"."""
    group = parser.getgroup("attention", "attention benchmark")
    for name, (value, text) in OPTIONS.items():
        group.addoption(f"--attn-{name}", metavar=value, help=text)
    group.addoption(
        "--attn-extra-backend",
        metavar="MODULE:ATTR",
        action="append",
        help="also measure a backend of your own, e.g. f(query, key, value, mask, scale)",
    )
    for name in IN_PYPROJECT:
        parser.addini(f"attn_{name}", f"default of --attn-{name}")


def option(config: pytest.Config, name: str) -> Any:
    """Return an option, else its environment variable, else pyproject's, else None."""
    value = config.getoption(f"attn_{name}")
    if value is None and name in IN_ENVIRONMENT:
        value = from_environment(name)
    if value is None and name in IN_PYPROJECT:
        value = config.getini(f"attn_{name}") or None
    return value


def settings_of(config: pytest.Config) -> Settings:
    """Resolve the settings once; UsageError in one line if one is wrong."""
    if SETTINGS not in config.stash:
        names = [name.replace("-", "_") for name in (*OPTIONS, "extra_backend")]
        try:
            config.stash[SETTINGS] = resolve({name: option(config, name) for name in names})
        except ValueError as error:
            raise pytest.UsageError(str(error)) from None
    return config.stash[SETTINGS]
