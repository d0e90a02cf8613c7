"""The generation backends: a toy model's logits all at once, prefix by prefix, token by token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from harness.attention.backend import Backend, Call, backend

if TYPE_CHECKING:
    import torch

    from harness.attention.works.model import Model
    from harness.cases.case import Case


class Generation(Backend):
    """Compute logits of the toy model; decoding has no backward."""

    work = "sequence"
    trains: ClassVar[bool] = False

    def unsupported(self, case: Case) -> str | None:
        """Refuse backward where a program decodes."""
        if self.trains or case.phase == "forward":
            return None
        return "decoding is not trained: there is no backward"


@backend
class OnePass(Generation):
    """Feed the whole text at once under a causal mask: teacher forcing, and prefill."""

    name = "one-pass"
    trains = True

    def prepare(self, case: Case, inputs: Any) -> Call:
        """Return a call that computes [batch, length, vocabulary]."""
        from harness.attention.works.cached import logits

        model: Model = inputs
        return lambda: logits(model, model.tokens)


@backend
class PrefixPasses(Generation):
    """Feed each prefix of the text in a pass of its own and keep the last position's logits."""

    name = "prefix-passes"
    trains = True

    def prepare(self, case: Case, inputs: Any) -> Call:
        """Return a call that makes as many passes as there are tokens."""
        import torch

        from harness.attention.works.cached import logits

        model: Model = inputs
        ends = range(1, case.length_query + 1)

        def call() -> torch.Tensor:
            return torch.cat([logits(model, model.tokens[:, :end], last=1) for end in ends], 1)

        return call


@backend
class CachedSteps(Generation):
    """Decode greedily: feed one token, keep its keys and values, choose the next, repeat.

    Only the first token is read from the text. The others are its own choices, so its logits are
    right only if every token it chose is.
    """

    name = "cached-steps"

    def unsupported(self, case: Case) -> str | None:
        """Refuse dtypes in which rounding decides between near tokens."""
        if case.itemsize < 4:
            return f"greedy choices in {case.dtype} differ by rounding alone"
        return super().unsupported(case)

    def prepare(self, case: Case, inputs: Any) -> Call:
        """Return a call that takes one step per token, from an empty cache."""
        import torch

        from harness.attention.works.cached import Cache, logits

        model: Model = inputs

        def call() -> torch.Tensor:
            cache, token, found = Cache(model), model.tokens[:, :1], []
            for start in range(case.length_query):
                found.append(logits(model, token, cache=cache, start=start))
                token = found[-1].argmax(-1)
            return torch.cat(found, 1)

        return call


@backend
class StepCached(Generation):
    """Feed the last token alone; keys and values before it are kept from an untimed pass."""

    name = "step-cached"
    work = "step"

    def prepare(self, case: Case, inputs: Any) -> Call:
        """Fill the cache; every call writes the last token's keys to the same place again."""
        from harness.attention.works.cached import Cache, logits

        model: Model = inputs
        cache, start = Cache(model), case.length_query - 1
        if start:
            logits(model, model.tokens[:, :start], cache=cache, last=1)
        token = model.tokens[:, start:]
        return lambda: logits(model, token, cache=cache, start=start)


@backend
class StepRecompute(Generation):
    """Feed the whole text again to get the logits of its last position."""

    name = "step-recompute"
    work = "step"

    def prepare(self, case: Case, inputs: Any) -> Call:
        """Return a call that computes [batch, 1, vocabulary]."""
        from harness.attention.works.cached import logits

        model: Model = inputs
        return lambda: logits(model, model.tokens, last=1)
