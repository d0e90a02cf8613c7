"""Works: the claims on layers, recurrences and generation, as data."""

from __future__ import annotations

from functools import partial

from harness.analysis.concord import concord_rule
from harness.analysis.evidence import Claim, Scope
from harness.analysis.generation import (
    DECODED,
    PREFIXES,
    STEP_EXPONENTS,
    WHOLE,
    decode_rule,
    growing_rule,
    is_cached,
    is_taught,
    step_rule,
)
from harness.analysis.layers import LAYERS, projections_rule
from harness.analysis.recurrence import recurrence_rule
from harness.case import MASK_CODES
from harness.work_costs import GATES

WORK_ANSWERS: tuple[Claim, ...] = (
    Claim(
        id="A11",
        sentence="teacher forcing: one causal pass gives every position's logits",
        quantity="agreement",
        series="cell of one-pass or prefix-passes",
        prediction="equal to T separate passes over the prefixes, in float64",
        scope=Scope((WHOLE, PREFIXES), ("causal",)),
        rule=partial(concord_rule, chosen=is_taught),
    ),
    Claim(
        id="A12",
        sentence="decoding with a KV cache gives what recomputing everything gives",
        quantity="agreement",
        series="cell of cached-steps or step-cached",
        prediction="same logits, and same greedy tokens: cached-steps feeds on its own",
        scope=Scope((DECODED, "step-cached"), ("causal",)),
        rule=partial(concord_rule, chosen=is_cached),
    ),
)
RECURRENCE_COST: tuple[Claim, ...] = (
    Claim(
        id="C8",
        sentence="an RNN waits for its previous state; attention does not",
        quantity="time",
        series="sweep of at least 4 values of T",
        prediction="T steps: exponent 1; at the smallest T longer than an attention layer",
        scope=Scope(tuple(GATES), ("causal",)),
        rule=recurrence_rule,
    ),
)
WORK_COSTS: tuple[Claim, ...] = (
    Claim(
        id="C10",
        sentence="training handles all positions at once",
        quantity="time",
        series="pair of sweeps of one-pass and prefix-passes",
        prediction="a pass per prefix over one pass: the ratio grows with T",
        scope=Scope((PREFIXES,), ("causal",), ("forward", "forward_backward")),
        rule=growing_rule,
    ),
    Claim(
        id="C11",
        sentence="prefill is one call, decoding is one step per token",
        quantity="time",
        series="cell measured by one-pass and cached-steps",
        prediction="decoding takes longer at every T",
        scope=Scope((DECODED,), ("causal",)),
        rule=decode_rule,
    ),
    Claim(
        id="C12",
        sentence="a KV cache saves rebuilding K and V; it does not remove the order",
        quantity="time",
        series="sweep of at least 4 contexts",
        prediction="time of one step: exponent 1 with a cache, 2 without",
        scope=Scope(tuple(STEP_EXPONENTS), ("causal",)),
        rule=step_rule,
    ),
    Claim(
        id="C13",
        sentence="making Q, K, V is a separate cost, linear in T",
        quantity="time",
        series="layer measured beside its projections alone",
        prediction="projections: exponent 1; their share of the layer falls with T",
        scope=Scope(LAYERS, tuple(MASK_CODES)),
        rule=projections_rule,
    ),
)
