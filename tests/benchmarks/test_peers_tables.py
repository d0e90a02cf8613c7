import pytest

from benchmarks.costs import costs, defaults
from benchmarks.page import page
from benchmarks.truth import reference_spread, references, truths
from benchmarks.verdict import best_peer, default_sentence, sentences
from tests.support.peer_rows import found, measured, row

BOTH = ("engine", "peer")


def test_the_truth_is_the_median_over_processes() -> None:
    data = measured(tools=())
    assert references(data, "hot")["one"] == pytest.approx((1.0, 0.99, 1.01))
    processes, spread = reference_spread(data, "hot")
    assert (processes, spread) == (3, pytest.approx(0.0075))  # 1 % of the one, 0.5 % of the other


def test_seconds_are_for_all_cells_and_start_up_is_shared() -> None:
    runs = row("peer", found("one", 1.0, measure_s=2.0), found("two", 2.0, measure_s=1.0))
    cost = costs(measured(runs, tools=("peer",))).loc["peer"]
    assert cost["measure_s"] == pytest.approx(3.0)
    assert cost["wall_s"] == pytest.approx(4.0)


def test_a_tool_that_saw_half_the_cells_is_scaled_to_all() -> None:
    cost = costs(measured(row("peer", found("one", 1.0)), tools=("peer",))).loc["peer"]
    assert (cost["measure_s"], cost["wall_s"]) == (2.0, 8.0)


def test_repeats_of_one_cell_do_not_outweigh_the_others() -> None:
    often = [row("peer", found("one", 1.0, measure_s=1.0)) for _ in range(5)]
    once = row("peer", found("two", 2.0, measure_s=9.0), wall_s=12.0)
    assert costs(measured(*often, once, tools=("peer",))).at["peer", "measure_s"] == 10.0


def test_tuning_and_defaults_do_not_count_as_the_cost() -> None:
    tuned = row("peer", found("one", 1.0, measure_s=50.0), stage="tune", wall_s=70.0)
    runs = row("peer", found("one", 1.0), found("two", 2.0))
    cost = costs(measured(tuned, runs, tools=("peer",))).loc["peer"]
    assert (cost["measure_s"], cost["search_s"]) == (2.0, 70.0)


def test_only_intervals_that_hold_the_truth_count() -> None:
    runs = [
        row("peer", found("one", 1.0, spread=0.1), found("two", 2.02, spread=0.01)),
        row("peer", found("one", 1.04, spread=0.1), found("two", 2.0, spread=0.01)),
    ]
    true = truths(measured(*runs, tools=("peer",))).loc["peer"]
    assert (true["hot_stated_held"], true["hot_stated_of"]) == (3, 4)
    assert true["hot_stated_width"] == pytest.approx((0.05 + 0.005) / 2, rel=0.05)
    assert true["hot_error"] == pytest.approx(0.005)


def test_an_interval_beside_the_truth_on_either_side_does_not_hold_it() -> None:
    runs = row("peer", found("one", 0.9, spread=0.01), found("two", 2.2, spread=0.01))
    true = truths(measured(runs, tools=("peer",))).loc["peer"]
    assert (true["hot_stated_held"], true["hot_median_held"]) == (0, 0)


def test_three_runs_joined_cover_the_spread_between_processes() -> None:
    runs = [row("peer", found("one", middle, spread=0.001)) for middle in (0.97, 1.02, 1.03)]
    true = truths(measured(*runs, tools=("peer",))).loc["peer"]
    assert (true["hot_stated_held"], true["hot_stated_of"]) == (0, 3)
    assert (true["hot_joined_held"], true["hot_joined_of"]) == (1, 1)


def test_a_cheap_peer_that_seldom_gets_there_is_not_the_best() -> None:
    seldom = [row("lucky", found("one", 1.0) | {"reached": False}) for _ in range(4)]
    steady = row("steady", found("one", 1.0, measure_s=3.0), found("two", 2.0, measure_s=3.0),
                 wall_s=9.0)  # fmt: skip
    data = measured(*seldom, steady, tools=("lucky", "steady"))
    assert best_peer(costs(data), "wall_s") == "steady"


@pytest.mark.parametrize(("seconds", "word"), [(0.5, "met"), (0.6, "missed")])
def test_half_the_time_of_the_best_peer_is_the_target(seconds: float, word: str) -> None:
    ours = row("engine", *(found(cell, 1.0, measure_s=seconds) for cell in ("one", "two")))
    theirs = row("peer", *(found(cell, 1.0) for cell in ("one", "two")))
    data = measured(ours, theirs, tools=BOTH)
    _, measuring, *_ = sentences(costs(data), truths(data))
    assert f"{seconds * 2:.1f} s against 2.0 s of peer" in measuring
    assert f"**{word}**" in measuring


def test_the_best_coverage_is_named_with_its_width() -> None:
    ours = row("engine", found("one", 1.2, spread=0.1), found("two", 2.0, spread=0.1))
    theirs = row("peer", found("one", 1.0, spread=0.4), found("two", 2.0, spread=0.4))
    data = measured(ours, theirs, tools=BOTH)
    *_, last = sentences(costs(data), truths(data))
    assert "50% hot (in turns: not measured) at ±5.5% against 100% hot" in last
    assert "at ±20.0% of peer" in last
    assert "**missed**" in last


def test_the_default_is_shown_with_what_it_reaches() -> None:
    seen = found("one", 1.0, spread=0.1) | {"reached": False}
    shown = defaults(measured(row("peer", seen, stage="default"), tools=("peer",))).loc["peer"]
    assert (shown["reached"], shown["cells"], shown["wall_s"]) == (0, 1, 4.0)
    assert shown["width"] == pytest.approx(0.08)


def test_the_page_shows_every_tool_and_says_how_few_processes_gave_the_truth() -> None:
    runs = [row(tool, found("one", 1.0), found("two", 2.0)) for tool in BOTH]
    text = page(measured(*runs, tools=BOTH))
    assert "| peer | - | 2.00 | 4.0 | - | 2/2 \\[16%, 100%\\] |" in text
    assert "Only 3 processes gave the truth." in text
    assert "{" not in text


def test_peers_as_they_come_count_only_where_they_reach_the_precision() -> None:
    ours = row("engine", found("one", 1.0), found("two", 2.0), wall_s=4.0)
    quick = row("quick", found("one", 1.0) | {"reached": False}, stage="default", wall_s=0.1)
    good = row("good", found("one", 1.0), stage="default", wall_s=4.0)
    data = measured(ours, quick, good, tools=("engine", "quick", "good"))
    said = default_sentence(costs(data), defaults(data), 2)
    assert "4.0 s against 8.0 s of good, 0.50 times" in said
    assert "**met**" in said
    none = measured(ours, quick, tools=("engine", "quick"))
    assert "none reaches" in default_sentence(costs(none), defaults(none), 2)


def test_the_page_names_a_tool_that_failed() -> None:
    data = measured(row("peer", found("one", 1.0)), tools=("peer",))
    assert "- `engine` failed: it hung\n" in page(data | {"failures": {"engine": "it hung"}})


def test_a_page_without_any_round_says_so() -> None:
    text = page(measured(tools=BOTH))
    assert "The engine was not measured." in text
    assert "Not measured." in text
