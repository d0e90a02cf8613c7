"""The memory limit of the control group this process runs in: a container's real memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")
# An unlimited group of version 1 shows the largest page-aligned integer.
UNLIMITED = 2**60


@dataclass(frozen=True)
class Limit:
    """The tightest limit found, and what may still be taken under it; both in bytes."""

    limit_bytes: int
    headroom_bytes: int


def memory_limit(root: Path = ROOT, membership: Path = MEMBERSHIP) -> Limit | None:
    """Return the limit with the least headroom among the group and its parents, or None.

    Reads version 2 (memory.max) and version 1 (memory.limit_in_bytes). Cached file pages count as
    free, since the kernel drops them before it refuses memory.
    """
    limits = [found for folder in _folders(root, membership) if (found := _limit(folder))]
    return min(limits, key=lambda found: found.headroom_bytes, default=None)


def _folders(root: Path, membership: Path) -> list[Path]:
    """Return the folders of this process's memory group and of every parent."""
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return []
    found: list[Path] = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        base = root / "memory" if controllers else root
        # Inside a container the path may be the host's: its tail is absent, the root is not.
        parts = Path(path.lstrip("/"))
        found += [base / parts, *(base / parent for parent in parts.parents)]
    return found


def _limit(folder: Path) -> Limit | None:
    newer = _number(folder / "memory.max"), _number(folder / "memory.current")
    older = _number(folder / "memory.limit_in_bytes"), _number(folder / "memory.usage_in_bytes")
    limit, used = newer if newer[0] is not None else older
    if limit is None or used is None or limit >= UNLIMITED:
        return None
    return Limit(limit, max(0, limit - used + _reclaimable(folder / "memory.stat")))


def _number(file: Path) -> int | None:
    try:
        text = file.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None


def _reclaimable(file: Path) -> int:
    try:
        pairs = dict(line.split() for line in file.read_text().splitlines())
    except (OSError, ValueError):
        return 0
    return int(pairs.get("total_inactive_file", pairs.get("inactive_file", 0)))
