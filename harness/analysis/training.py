"""Training: the claims on backward, as data: its time and what it keeps in memory."""

from __future__ import annotations

from harness.analysis.backward import backward_rule
from harness.analysis.evidence import DENSE_MASKS, Claim, Scope
from harness.analysis.growth import DENSE
from harness.analysis.held import held_rule
from harness.analysis.storage import FUSED, STORING

TRAINING: tuple[Claim, ...] = (
    Claim(
        id="D-backward",
        sentence="backward takes 2 to 2.5 times forward: four products, five if it recomputes",
        quantity="time",
        series="cell timed both forward and backward",
        prediction="2 where the weights are kept, 2.5 where recomputed; in [1.5, 4]",
        scope=Scope(DENSE, phases=("backward",)),
        rule=backward_rule,
    ),
    Claim(
        id="D-training-memory",
        sentence="between forward and backward naive holds the T×T weights, fused kernels do not",
        quantity="bytes held",
        series="sweep of at least 4 values of T with a backward",
        prediction="one score matrix held by who stores, no T² term in fused kernels",
        scope=Scope((*STORING, *FUSED), DENSE_MASKS, ("forward_backward",)),
        rule=held_rule,
    ),
)
