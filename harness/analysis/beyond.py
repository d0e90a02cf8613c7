"""Beyond: the claims of section D, which go further than the article."""

from __future__ import annotations

from functools import partial

from harness.analysis.alibi import ALIBI, alibi_rule
from harness.analysis.concord import concord_rule
from harness.analysis.evidence import Claim, Scope
from harness.analysis.grouped import bytes_rule, time_rule
from harness.analysis.varlen import PACKED, varlen_rule
from harness.analysis.window import MASKING, SKIPPING, window_rule
from harness.record import Record

WINDOW_SWEEP = "sliding-window sweep of at least 4 values of T"


def is_crossed(record: Record) -> bool:
    """Whether the queries are of another sequence than the keys: their lengths differ."""
    return record.work == "attention" and record.length_query != record.length_key


BEYOND: tuple[Claim, ...] = (
    Claim(
        id="D-alibi",
        sentence="ALiBi adds a bias that is linear in the distance: right, and at what cost",
        quantity="agreement and time",
        series="cell under mask alibi",
        prediction="agrees; the time over plain causal is printed",
        scope=Scope(("*",), (ALIBI,)),
        rule=alibi_rule,
    ),
    Claim(
        id="D-cross",
        sentence="cross-attention is right for fewer and for more queries than keys",
        quantity="agreement",
        series="cell with Tq != Tk",
        prediction="every cell agrees",
        scope=Scope(()),
        rule=partial(concord_rule, chosen=is_crossed),
    ),
    Claim(
        id="D-gqa",
        sentence="fewer key and value heads take fewer bytes and leave the answer right",
        quantity="input bytes, peak memory and agreement",
        series="sweep of at least 3 values of heads_kv",
        prediction="inputs + peak shrink by what K and V shrink by",
        scope=Scope(()),
        rule=bytes_rule,
    ),
    Claim(
        id="D-gqa-time",
        sentence="fewer key and value heads make a forward call faster",
        quantity="time",
        series="sweep of at least 3 values of heads_kv",
        prediction="time above 1x that of fewer heads; little, as the arithmetic is the same",
        scope=Scope(()),
        rule=time_rule,
    ),
    Claim(
        id="D-varlen",
        sentence="packing sequences without their padding takes less time than padding them",
        quantity="agreement and time",
        series="cell timed both padded and packed",
        prediction="real tokens agree; padded time over packed above 1",
        scope=Scope((PACKED,)),
        rule=varlen_rule,
    ),
    Claim(
        id="D-window",
        sentence="a sliding window makes time linear where hidden keys are skipped",
        quantity="time",
        series=WINDOW_SWEEP,
        prediction="exponent 1, so that 2 is refuted",
        scope=Scope(SKIPPING, ("sliding-window",)),
        rule=partial(window_rule, expected=1.0, other=2.0),
    ),
    Claim(
        id="D-window-mask",
        sentence="a sliding window laid over T×T as a mask saves nothing: time stays T²",
        quantity="time",
        series=WINDOW_SWEEP,
        prediction="exponent 2, so that 1 is refuted",
        scope=Scope(MASKING, ("sliding-window",)),
        rule=partial(window_rule, expected=2.0, other=1.0),
    ),
)
