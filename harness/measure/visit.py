"""Visit: one case on some backends, from inputs to observations: agreement, memory, then time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import torch

from harness.attention.backend import Backend
from harness.measure.cards import Reading, card_flags, must_cool, read_card
from harness.measure.check import Checker, Fields
from harness.measure.clock import Call
from harness.measure.device import device_for
from harness.measure.guard import SUSPICIOUS_BYTES, bytes_in_use
from harness.measure.outcome import Failure, attempt
from harness.measure.phases import Passes
from harness.measure.protocol import SETUP, Mark, Visit
from harness.measure.rounds import Rounds, measure_rounds
from harness.measure.setup import clock_for
from harness.records.record import SEEN, Observation, Status, is_float
from harness.records.store import finite

COOLING_S = 10.0


@dataclass
class Attempt:
    """One backend on its way through a visit: what was seen, and what stopped it if anything."""

    backend: Backend
    number: int
    passes: Passes | None = None
    call: Call | None = None
    fields: Fields = field(default_factory=dict)
    failure: Failure | None = None
    done: bool = False


@dataclass(frozen=True)
class Visited:
    """What a visit brought: {backend: observation}, and seconds by purpose.

    Where it `broke`, this process is past use, and backends that were not finished are left out:
    ask for them again in a fresh worker.
    """

    seen: dict[str, Observation]
    broken: bool
    spent_s: dict[str, float]


def measure_visit(
    visit: Visit, backends: Mapping[str, Backend], *, limit: int | None, mark: Mark
) -> Visited:
    """Measure one case on all its backends.

    `limit` is in bytes; `mark` is told the number of the backend at work. Gradients are recorded
    only for a phase that has a backward.
    """
    attempts = {
        name: Attempt(backends[name], number) for number, name in enumerate(visit.backends)
    }
    with torch.set_grad_enabled(visit.case.phase != "forward"):
        checker = check_all(visit, attempts, limit=limit, mark=mark)
        if checker is not None and not broken(attempts):
            before = bytes_in_use(checker.device)
            with checker.spent.on("timing"):
                time_all(visit, attempts, checker=checker, mark=mark)
            grown = bytes_in_use(checker.device) - before
            with checker.spent.on("audit"):
                check_all_after_timing(
                    checker, attempts, growing=grown > SUSPICIOUS_BYTES, mark=mark
                )
    seen = {name: observe(name, one) for name, one in attempts.items() if one.done}
    spent = dict(checker.spent.seconds) if checker else {}
    return Visited(seen, broken=broken(attempts), spent_s=spent)


def broken(attempts: Mapping[str, Attempt]) -> bool:
    """Whether the device is lost to this process."""
    return any(one.failure is not None and one.failure.sticky for one in attempts.values())


def check_all(
    visit: Visit, attempts: Mapping[str, Attempt], *, limit: int | None, mark: Mark
) -> Checker | None:
    """Pass each backend through its checks; what it fails at is its own."""
    shared: list[Checker] = []
    device = device_for(visit.case.device)
    failure = attempt(lambda: shared.append(Checker(visit, device, limit=limit)))
    for one in attempts.values():
        mark(one.number)
        one.failure = failure or failure_or_harm(shared[0], one, check_one(shared[0], one))
        one.done = one.failure is not None
        if broken(attempts):
            break
    mark(SETUP)
    return shared[0] if shared else None


def failure_or_harm(checker: Checker, one: Attempt, failure: Failure | None) -> Failure | None:
    """Return the failure, or what harm the backend did, which is undone in either case."""
    harm = attempt(lambda: checker.guard.inspect(may_start_threads=one.backend.compiled))
    if failure is None or harm is None:
        return failure or harm
    return replace(failure, sticky=failure.sticky or harm.sticky)


def check_one(checker: Checker, one: Attempt) -> Failure | None:
    """Prepare one backend, in the first replica compare and weigh it, and make its timed call."""
    made: list[Passes] = []
    on = checker.spent.on
    with on("first call"):
        failure = attempt(lambda: made.append(checker.prepare(one.backend, one.fields)))
    reason = one.fields.pop("disagreement", None)
    if failure is None and one.fields.get("agrees") is False:
        failure = Failure(Status.DISAGREES, reason or "differs from the reference")
    if failure is None and not checker.visit.replica:
        with on("memory"):
            failure = attempt_check(
                lambda: checker.read_memory_and_kernel(one.backend, made[0], one.fields)
            )
        with on("comparison"):
            failure = failure or attempt_check(lambda: checker.ask_with_other_values(one.backend))

    def keep_call() -> None:
        one.passes, one.call = made[0], made[0].timed()

    return failure or attempt(keep_call)


def attempt_check(step: Callable[[], Failure | None]) -> Failure | None:
    """Return the failure that a step found, or the one that it ended in."""
    found: list[Failure | None] = []
    return attempt(lambda: found.append(step())) or found[0]


def check_all_after_timing(
    checker: Checker, attempts: Mapping[str, Attempt], *, growing: bool, mark: Mark
) -> None:
    """Check each timed backend once more: in the first replica, or where harm was done.

    A harm that nobody repeats has no name; it is undone all the same.
    """
    harm = attempt(checker.guard.inspect)
    if checker.visit.replica and not (growing or harm):
        return
    for one in attempts.values():
        passes = one.passes
        if passes is None or one.failure is not None:
            continue
        mark(one.number)
        step = partial(checker.check_after_timing, one.backend, passes, growing=growing)
        one.failure = failure_or_harm(checker, one, attempt_check(step))
    mark(SETUP)


def time_all(
    visit: Visit, attempts: Mapping[str, Attempt], *, checker: Checker, mark: Mark
) -> None:
    """Time those that passed; again, some times at most, if the machine was busy or hot."""
    for tries_left in range(visit.redo, -1, -1):
        before = read_card_of(visit.case.device)
        rounds = time_once(visit, attempts, checker=checker, mark=mark)
        after = read_card_of(visit.case.device)
        hot = must_cool(before, after)
        busy = any("contended" in seen.flags for seen in rounds.values())
        if not (tries_left and (hot or busy)) or any(seen.failure for seen in rounds.values()):
            break
        time.sleep(COOLING_S if hot else 0.0)
    flags = card_flags(before, after) + ("too_hot",) * hot
    for name, seen in rounds.items():
        keep_rounds(attempts[name], seen, flags=flags)


def time_once(
    visit: Visit, attempts: Mapping[str, Attempt], *, checker: Checker, mark: Mark
) -> dict[str, Rounds]:
    """Time those that passed, in interleaved rounds."""
    return measure_rounds(
        {name: one.call for name, one in attempts.items() if one.call and not one.failure},
        clock_for(checker.device),
        target=visit.target,
        cap_s=visit.cap_s,
        seed=visit.seed * 1000 + visit.replica,
        first_s={name: one.fields.get("first_call_s", 0.0) for name, one in attempts.items()},
        on_start=lambda name: mark(attempts[name].number),
        after=checker.guard.glance,
    )


def read_card_of(device: str) -> Reading | None:
    """Read the card of a CUDA device; None for the host."""
    return None if device == "cpu" else read_card(int(device.partition(":")[2] or 0))


def keep_rounds(one: Attempt, seen: Rounds, *, flags: tuple[str, ...]) -> None:
    """Take over what the rounds saw of one backend."""
    one.failure = seen.failure
    one.done = not seen.interrupted
    one.fields |= {
        "samples_s": seen.samples_s,
        "calls_per_sample": seen.calls_per_sample,
        "page_faults": seen.page_faults,
        "flags": seen.flags + flags,
    }


def observe(name: str, one: Attempt) -> Observation:
    """Turn an attempt into plain values; nothing that is not finite leaves the worker."""
    fields: Fields = {
        key: finite(value) if key in SEEN and is_float(key) else value
        for key, value in one.fields.items()
    }
    if one.failure is not None:
        fields |= {"status": one.failure.status, "reason": one.failure.reason, "samples_s": ()}
    if one.failure is not None and one.failure.status is Status.DISAGREES:
        fields["agrees"] = False
    return Observation.of(name, fields)
