"""Start: how a run begins: its facts, its folder (new, or that of a cut run), its workers."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from harness.attention.backends import BACKENDS
from harness.cases.grid import Cell, grid_digest
from harness.measure.host_memory import available_memory, own_bytes, wanted_bytes
from harness.measure.machine import facts, fingerprint
from harness.measure.protocol import WorkerSpec, share_cores
from harness.records.noise import AA_RUN, noise_facts
from harness.records.record import Observation
from harness.records.remote.address import redact, run_label
from harness.records.store import find_run
from harness.records.writer import RunWriter, new_folder
from harness.run.pool import Pool, make_pool
from harness.run.resume import read_cut_run, resumed_facts
from harness.run.settings import Kind, Settings

LARGEST_HEAP = 2**31
# The rest is for this process, the page cache, and what grows between two looks.
GUARD_SHARE = 0.9


def open_run(
    settings: Settings, cells: Sequence[Cell]
) -> tuple[RunWriter, dict[str, list[Observation]]]:
    """Make the run's folder, or go on in that of the run to resume, with what it has seen.

    ValueError in one line if there is no such run or it asked something else.
    """
    known = run_facts(settings, cells)
    if settings.resume is None:
        words = (settings.device, settings.kind.value, settings.grid.name)
        label = run_label("-".join(filter(None, words)), settings.url)
        return RunWriter(new_folder(settings.results, label), known), {}
    name = None if settings.resume == "latest" else settings.resume
    folder = find_run(settings.results, name)
    seen = read_cut_run(folder, known)
    return RunWriter(folder, resumed_facts(folder, known)), seen


def run_facts(settings: Settings, cells: Sequence[Cell]) -> dict[str, Any]:
    """Return the facts that hold for the whole run."""
    machine = facts(threads=settings.threads)
    name = fingerprint(machine, device=settings.device)
    program = "attnbench" if settings.kind is Kind.AA_RUN else "pytest"
    return {
        "started": now(),
        "ended": None,
        "complete": False,
        "command": redact(" ".join([program, *sys.argv[1:]])),
        "grid": settings.grid.model_dump(include={"name", "description", "longest"}),
        "grid_digest": grid_digest(settings.grid),
        "device": settings.device,
        "machine": machine,
        "fingerprint": name,
        "settings": settings.facts(),
        "backends": list(settings.backends),
        "baseline": settings.baseline,
        "cells": len(cells),
        **facts_of_kind(settings, cells, name),
    }


def facts_of_kind(settings: Settings, cells: Sequence[Cell], fingerprint: str) -> dict[str, Any]:
    """Return what only runs of this kind tell: what is known of their noise, or that they are it.

    `fingerprint` names the machine whose A/A runs bear on these cells.
    """
    if settings.kind is Kind.AA_RUN:
        return {"kind": AA_RUN}
    names = [cell.name for cell in cells]
    known: dict[str, Any] = {"noise": noise_facts(settings.results, fingerprint, cells=names)}
    return known | ({"confirms": settings.look.run} if settings.look is not None else {})


def start_workers(settings: Settings, cells: Sequence[Cell]) -> Pool:
    """Start the workers for these cells, and keep this process off their cores."""
    on_cpu = settings.device == "cpu"
    cores, others = share_cores(settings.threads) if on_cpu else ((), ())
    spec = WorkerSpec(
        device=settings.device,
        threads=settings.threads,
        cores=cores,
        memory_limit=settings.memory_limit,
        memory_guard=settings.memory_limit or round(GUARD_SHARE * available_memory()),
        heap_bytes=heap_bytes(cells, replicas=settings.replicas) if on_cpu else 0,
        extra_backends=settings.extra_backends,
    )
    pool = make_pool(settings.pool, spec, replicas=settings.replicas, timeout_s=settings.timeout_s)
    if others:
        with suppress(OSError):
            os.sched_setaffinity(0, others)
    return pool


def heap_bytes(cells: Sequence[Cell], *, replicas: int) -> int:
    """Return twice what the largest cell wants, within a quarter of the memory there is."""
    wanted = [
        wanted_bytes(BACKENDS[cell.backend], cell.case)
        for cell in cells
        if cell.backend in BACKENDS
    ]
    room = available_memory() // (4 * replicas)
    return min(2 * max(wanted, default=0), room, LARGEST_HEAP)


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def peak_rss() -> int | None:
    """Return the most memory that this process has held, in bytes; None where nobody tells.

    Linux hands `ru_maxrss` down to children: a process started by a big one would seem big.
    """
    return own_bytes("VmHWM")
