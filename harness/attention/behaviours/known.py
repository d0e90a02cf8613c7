"""Known deviations: faults of libraries as data, so that only a new one fails a run; no torch."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from importlib import metadata
from pathlib import Path

from packaging.specifiers import SpecifierSet

from harness.records.record import CONFORMS, GONE, KNOWN, Finding

FILE = Path(__file__).with_name("known_deviations.toml")


@dataclass(frozen=True, kw_only=True)
class Known:
    """One fault: whose (shell patterns of backends, behaviour and device), since when, and why.

    `library` is a distribution and `versions` a range of it, both "" for a fault by definition.
    """

    backends: tuple[str, ...]
    behaviour: str
    note: str
    device: str = "*"
    library: str = ""
    versions: str = ""
    link: str = ""

    def covers(self, finding: Finding, version: str | None) -> bool:
        """Whether the fault is one of this backend, behaviour, device and version."""
        fits = (
            any(fnmatchcase(finding.backend, pattern) for pattern in self.backends)
            and fnmatchcase(finding.behaviour, self.behaviour)
            and fnmatchcase(finding.device, self.device)
        )
        if not fits or not self.library:
            return fits
        return version is not None and SpecifierSet(self.versions).contains(
            version.split("+")[0], prereleases=True
        )

    def resembles(self, finding: Finding) -> bool:
        """Whether a backend of a user's own has a fault that a library is known for."""
        return finding.wrong and fnmatchcase(finding.behaviour, self.behaviour)

    @property
    def text(self) -> str:
        """Say what is known, since which version, and where to read more."""
        where = f" ({self.library} {self.versions})" if self.library else ""
        return f"{self.note}{where}" + (f", {self.link}" if self.link else "")


@cache
def known_deviations() -> tuple[Known, ...]:
    """Read the list that comes with the program."""
    rows = tomllib.loads(FILE.read_text(encoding="utf-8")).get("known", [])
    return tuple(Known(**row | {"backends": tuple(row["backends"])}) for row in rows)


@cache
def installed(library: str) -> str | None:
    """Return the version of a distribution, or None if it is not installed."""
    try:
        return metadata.version(library) if library else None
    except metadata.PackageNotFoundError:
        return None


def with_known(
    finding: Finding,
    known: tuple[Known, ...] | None = None,
    versions: dict[str, str] | None = None,
) -> Finding:
    """Say in a finding's reason that its fault is known, or that a known one is gone.

    `known` defaults to the program's list and `versions` to what is installed. A backend of a
    user's own is forgiven what any library is known for: it may well call that library.
    """
    from harness.attention.backends import BACKENDS

    own = finding.backend not in BACKENDS
    for one in known_deviations() if known is None else known:
        if own and one.resembles(finding):
            return replace(finding, reason=f"{KNOWN}of {', '.join(one.backends)}: {one.text}")
        version = installed(one.library) if versions is None else versions.get(one.library)
        if one.covers(finding, version):
            if finding.wrong:
                said = f"; {finding.reason}" if finding.reason else ""
                return replace(finding, reason=f"{KNOWN}{one.text}{said}")
            if finding.verdict == CONFORMS:
                return replace(finding, reason=f"{GONE}{one.text}")
    return finding
