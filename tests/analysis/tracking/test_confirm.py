"""The second look: what is measured again, and what the answer makes of a candidate."""

from __future__ import annotations

import numpy as np
import pytest

from harness.analysis.tracking.judge import (
    Judgement,
    backend_of,
    judge_last,
    to_confirm,
    with_second_look,
)
from tests.support.night_draws import Noise, Plant
from tests.support.simulated_nights import Machine, alarms

QUIET = Noise(bimodal=0.0, bad=0.0)
MACHINE = Machine(3, nights=40, count=60, noise=QUIET)
SLOW = [Plant("slower", 39, 7, 0.08), Plant("slower", 39, 8, 0.20)]


@pytest.fixture(scope="module")
def judged() -> Judgement:
    return judge_last(MACHINE.archive(39, SLOW))


def answer(judgement: Judgement, share: float, *, controls: float = 0.0) -> Judgement:
    """Measure again: candidates at `share` above their level, controls at `controls`."""
    levels = dict(zip(judgement.cells["cell"], judgement.cells["level_s"], strict=True))
    wanted, quiet = to_confirm(judgement)
    shares = dict.fromkeys(wanted, share) | dict.fromkeys(quiet, controls)
    again = {cell: (levels[cell] * (1 + more),) * 2 for cell, more in shares.items()}
    return with_second_look(judgement, again)


def states(judgement: Judgement) -> set[str]:
    return {one.state for one in judgement.findings if one.word == "slower"}


def test_candidates_come_worst_first_with_five_quiet_controls(judged: Judgement) -> None:
    candidates, controls = to_confirm(judged)
    assert candidates == [MACHINE.names[8], MACHINE.names[7]]
    assert len(set(controls)) == 5
    assert not set(controls) & set(candidates)
    table = judged.cells.set_index("cell").loc[controls]
    assert (table["status"] == "tracked").all()
    assert (table["quiet"] < 1.5).all()
    assert to_confirm(judged) == (candidates, controls)


def test_controls_are_of_other_backends_where_there_are_some(judged: Judgement) -> None:
    candidates, controls = to_confirm(judged)
    assert not {backend_of(cell) for cell in controls} & {backend_of(cell) for cell in candidates}


def test_a_quiet_night_asks_for_nothing() -> None:
    judgement = judge_last(MACHINE.archive(38))
    assert to_confirm(judgement) == ([], [])


def test_the_answer_decides(judged: Judgement) -> None:
    assert states(judged) == {"unconfirmed"}
    assert alarms(judged) == set()
    assert states(answer(judged, 0.08)) == {"confirmed"}
    assert alarms(answer(judged, 0.08)) == {MACHINE.names[7], MACHINE.names[8]}
    assert states(answer(judged, 0.01)) == {"not confirmed"}
    assert alarms(answer(judged, 0.01)) == set()


def test_controls_that_moved_too_make_it_the_environment(judged: Judgement) -> None:
    moved = answer(judged, 0.25, controls=0.12)
    assert states(moved) == {"environment"}
    assert alarms(moved) == set()
    slightly = answer(judged, 0.25, controls=0.01)
    assert states(slightly) == {"confirmed"}


def test_controls_that_moved_a_little_cover_only_the_smaller_change(judged: Judgement) -> None:
    found = {one.cell: one.state for one in answer(judged, 0.25, controls=0.05).findings}
    assert found[MACHINE.names[7]] == "environment"  # +8 %
    assert found[MACHINE.names[8]] == "confirmed"  # +20 %


def test_a_candidate_that_was_not_measured_again_stays_open(judged: Judgement) -> None:
    assert states(with_second_look(judged, {})) == {"unconfirmed"}


def test_a_night_on_which_all_is_slower_is_the_environment() -> None:
    machine = Machine(4, nights=40, count=60, noise=QUIET)
    judgement = machine.judged(39, [Plant("environment", 39, size=0.06)])
    assert len([one for one in judgement.findings if one.word == "slower"]) > 40
    assert alarms(judgement) == set()


def test_memory_and_outcomes_need_no_second_look() -> None:
    plants = [Plant("bigger", 39, 1, 0.01), Plant("gone", 39, 2), Plant("unsupported", 39, 3)]
    judgement = judge_last(MACHINE.archive(39, plants))
    assert alarms(judgement) == {MACHINE.names[cell] for cell in (1, 2, 3)}
    assert [one.word for one in judgement.findings] == ["gone", "gone", "bigger"]


def test_few_runs_only_report() -> None:
    machine = Machine(5, nights=6, count=60, noise=QUIET)
    judgement = judge_last(machine.archive(5, [Plant("slower", 5, 7, 0.2)]))
    assert judgement.too_few_runs
    assert [(one.cell, one.word, one.state) for one in judgement.findings] == [
        (machine.names[7], "slower", "reported")
    ]
    assert alarms(judgement) == set()
    assert to_confirm(judgement) == ([], [])


def test_a_first_run_has_nothing_to_say() -> None:
    judgement = judge_last(Machine(6, nights=1, count=60).archive(0))
    assert judgement.findings == ()
    assert set(judgement.cells["status"]) == {"young"}


def test_the_table_says_how_small_a_change_can_be_found(judged: Judgement) -> None:
    floors = judged.named("tracked")["floor"]
    assert floors.min() == pytest.approx(0.03)
    assert np.isfinite(floors).all()
