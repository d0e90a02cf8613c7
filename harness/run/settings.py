"""Settings: what a run was asked to do; options beat the environment, which beats pyproject."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.cases.grid import DEFAULT_BASELINE, Grid, load_grid
from harness.records.record import NO_BACKEND, Question
from harness.records.remote.address import local_folder, remote_url

if TYPE_CHECKING:
    from harness.analysis.tracking.track import SecondLook

POOLS = ("local", "inline")


class Kind(Enum):
    """What a run is for, as the word that the name of its folder holds."""

    MEASUREMENT = ""
    # A second look, in fresh processes, at what looked slower in another run.
    CONFIRMATION = "confirm"
    # The same cells under two labels in the same rounds: how far do equal things differ?
    AA_RUN = "noise"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Hold one run's settings; seconds and bytes."""

    grid: Grid
    device: str
    backends: tuple[str, ...]
    baseline: str
    results: Path
    reports: Path
    replicas: int
    target: float
    cap_s: float
    timeout_s: float
    memory_limit: int | None
    required: tuple[str, ...]
    extra_backends: tuple[str, ...]
    pool: str
    threads: int
    resume: str | None = None
    kind: Kind = Kind.MEASUREMENT
    look: SecondLook | None = None
    url: str | None = None
    seed: int = 0

    def works(self) -> dict[str, str]:
        """Map each backend to what it computes; a user's own computes attention."""
        from harness.attention.backends import BACKENDS

        return {
            name: BACKENDS[name].work if name in BACKENDS else "attention"
            for name in self.backends
        }

    def questions(self) -> list[Question]:
        """List the behaviours to ask of the backends that compute attention.

        One that compiles each case is asked only where the grid lists it by name.
        """
        attention = [name for name, work in self.works().items() if work == "attention"]
        return questions(attention, compiled=self.grid.backends or ())

    def facts(self) -> dict[str, Any]:
        """Return what run.json tells of the settings."""
        names = ("replicas", "target", "cap_s", "timeout_s", "pool", "threads", "seed")
        facts = {name: getattr(self, name) for name in names}
        return facts | {"memory_limit_bytes": self.memory_limit, "budget_s": self.grid.budget_s}


def resolve(options: Mapping[str, Any]) -> Settings:
    """Check the options and fill in what was not given; ValueError in one line if one is wrong.

    `options` maps the long option names without `--attn-` to values or None.
    """
    from harness.attention.backend import extra_name
    from harness.measure.protocol import default_threads

    results = options.get("results") or "results"
    look = second_look_at(results, options["confirm"]) if options.get("confirm") else None
    device = find_device(options.get("device") or (str(look.facts["device"]) if look else "auto"))
    usual = "quick" if device == "cpu" else "standard"
    grid = load_grid(options.get("grid") or (look.grid if look else usual))
    if look:
        look.check(grid)
    extra = _names(options.get("extra_backend"))
    known = known_backends(extra)
    backends = _chosen("backend", _names(options.get("backends")), known)
    wanted = _chosen("backend", grid.backends or [], known)
    for series in grid.series:
        _chosen("backend", series.backends or [], known)
    baseline = options.get("baseline") or DEFAULT_BASELINE
    limit = _number("memory-limit", options.get("memory_limit"), None)
    return Settings(
        grid=grid,
        device=device,
        backends=backends or tuple(dict.fromkeys([*(wanted or known), *map(extra_name, extra)])),
        baseline=_chosen("baseline", [baseline], known)[0],
        results=local_folder(options.get("results") or "results"),
        url=remote_url(options.get("results") or "results"),
        reports=Path(options.get("reports") or "reports"),
        replicas=int(_number("replicas", options.get("replicas"), grid.replicas) or 1),
        target=_number("precision", options.get("precision"), grid.target) or grid.target,
        cap_s=grid.cap_s,
        timeout_s=_number("timeout", options.get("timeout"), grid.timeout_s) or grid.timeout_s,
        memory_limit=None if limit is None else int(limit * 2**30),
        required=_chosen("backend", _names(options.get("require")), known),
        extra_backends=tuple(extra),
        pool=_chosen("pool", [options.get("pool") or "local"], list(POOLS))[0],
        threads=default_threads(),
        resume=options.get("resume"),
        kind=Kind.CONFIRMATION if look else Kind.MEASUREMENT,
        look=look,
    )


def second_look_at(results: str | Path, run: str) -> SecondLook:
    """Find what of a run to measure again; only this loads pandas and scipy."""
    from harness.analysis.tracking.track import second_look

    return second_look(results, run)


def known_backends(extra: list[str]) -> list[str]:
    """List the names of the built-in backends and of the user's own."""
    from harness.attention.backend import extra_name
    from harness.attention.backends import BACKENDS

    return [*BACKENDS, *(extra_name(spec) for spec in extra)]


def chosen_backends(text: str) -> tuple[str, ...]:
    """Return the built-in backends named in a list like `A,B`; ValueError for an unknown one."""
    return _chosen("backend", _names(text), known_backends([]))


def find_device(wanted: str) -> str:
    """Return cpu, cuda or cuda:N; `auto` takes a GPU if its driver and this torch show one."""
    if wanted == "auto":
        return "cuda" if _driver_sees_gpu() and _torch_sees_gpu() else "cpu"
    kind, _, index = wanted.partition(":")
    if wanted not in ("cpu", "cuda") and not (kind == "cuda" and index.isdigit()):
        raise ValueError(f"unknown device {wanted!r}; valid: auto, cpu, cuda, cuda:N")
    return wanted


def _driver_sees_gpu() -> bool:
    from harness.measure.cards import gpu_count

    return gpu_count() > 0


def _torch_sees_gpu() -> bool:
    """Ask torch in a process of its own: this one never loads it."""
    import subprocess
    import sys

    question = "import torch, sys; sys.exit(0 if torch.cuda.is_available() else 1)"
    return subprocess.run([sys.executable, "-c", question], capture_output=True).returncode == 0


def _names(text: str | list[str] | None) -> list[str]:
    parts = text if isinstance(text, list) else (text or "").split(",")
    return [part.strip() for part in parts if part.strip()]


def _chosen(what: str, names: list[str], known: list[str]) -> tuple[str, ...]:
    for name in names:
        if name not in known:
            raise ValueError(f"unknown {what} {name!r}; valid: {', '.join(known)}")
    return tuple(dict.fromkeys(names))


def _number(name: str, value: Any, default: float | None) -> float | None:
    if value is None:
        return default
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 < number < float("inf"):
        raise ValueError(f"--attn-{name} must be a number above 0, not {value!r}")
    return number


def questions(backends: Iterable[str], compiled: Iterable[str] = ()) -> list[Question]:
    """List what is asked: every behaviour of every backend, and torch itself what is alone.

    `backends` compute attention. FlexAttention is left out, since each question would be compiled,
    unless it stands in `compiled`.
    """
    from harness.attention.backends import BACKENDS
    from harness.attention.behaviours import BEHAVIOURS

    asked = [
        name
        for name in backends
        if name not in BACKENDS or not BACKENDS[name].compiled or name in compiled
    ]
    return [
        Question(name, behaviour.id)
        for behaviour in BEHAVIOURS.values()
        for name in ([NO_BACKEND] if behaviour.alone else asked)
    ]
