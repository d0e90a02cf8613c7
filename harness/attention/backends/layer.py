"""Beyond attention alone: packed sequences, multi-head layers and their products, recurrences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from harness.attention.backend import Backend, Call, backend

if TYPE_CHECKING:
    import torch

    from harness.attention.works.layer import Hidden
    from harness.cases.case import Case


@backend
class PackedSdpa(Backend):
    """Call torch's scaled_dot_product_attention once per sequence, without any mask tensor.

    What a varlen kernel does in one launch: no padded key is read and no padded query answered.
    """

    name = "packed-sdpa"
    work = "packed"

    def prepare(self, case: Case, inputs: Any) -> Call:
        """Cut views of each sequence; the answers are joined as [1, heads, tokens, dim]."""
        import torch
        from torch.nn.functional import scaled_dot_product_attention

        tensors = (inputs.query, inputs.key, inputs.value)
        sequences = [[t[:, :, where] for t in tensors] for where in inputs.sequences()]
        causal = inputs.causal

        def call() -> torch.Tensor:
            answers = [
                scaled_dot_product_attention(query, key, value, is_causal=causal)
                for query, key, value in sequences
            ]
            return torch.cat(answers, dim=2)

        return call


class Layer(Backend):
    """Project to heads, attend, join the heads, project; subclasses say how they attend."""

    work = "layer"

    def attend(self, case: Case, inputs: Any) -> Any:
        """Return a function of query, key and value [batch, heads, length, dim]."""
        raise NotImplementedError

    def prepare(self, case: Case, inputs: Any) -> Call:
        """Return a call that computes [batch, length, width]."""
        from torch.nn.functional import linear

        hidden: Hidden = inputs
        attend, states, weights = self.attend(case, hidden), hidden.states, hidden.weights
        shape = (*states.shape[:2], case.heads, case.dim_key)

        def call() -> torch.Tensor:
            query, key, value = (
                linear(states, weights[name]).view(shape).transpose(1, 2)
                for name in ("query", "key", "value")
            )
            heads = attend(query, key, value)
            return linear(heads.transpose(1, 2).flatten(2), weights["output"])

        return call


@backend
class LayerNaive(Layer):
    """Attend with the whole score matrix."""

    name = "layer-naive"
    score_matrices = 2.0

    def attend(self, case: Case, inputs: Any) -> Any:
        """Return the plain formula, the scale on the query, hidden keys at -inf."""
        scale = case.dim_key**-0.5
        drop = None if case.mask == "full" else inputs.keep().logical_not_()

        def attend(query: Any, key: Any, value: Any) -> Any:
            scores = (query * scale) @ key.mT
            if drop is not None:
                scores = scores.masked_fill_(drop, float("-inf"))
            return scores.softmax(-1) @ value

        return attend


@backend
class LayerSdpa(Layer):
    """Attend with scaled_dot_product_attention, whatever kernel torch chooses."""

    name = "layer-sdpa"

    def attend(self, case: Case, inputs: Any) -> Any:
        """Choose is_causal or an explicit mask (True keeps)."""
        from functools import partial

        from torch.nn.functional import scaled_dot_product_attention

        if case.mask == "full":
            return scaled_dot_product_attention
        if case.mask in ("causal", "causal-bottom-right"):
            return partial(scaled_dot_product_attention, is_causal=True)
        return partial(scaled_dot_product_attention, attn_mask=inputs.keep())


@backend
class LayerMha(Backend):
    """torch.nn.MultiheadAttention with the same weights, in evaluation mode."""

    name = "layer-mha"
    work = "layer"

    def unsupported(self, case: Case) -> str | None:
        """Take the masks that the module has a flag for."""
        if case.mask in ("full", "causal", "causal-bottom-right"):
            return None
        return f"the module would need an explicit mask for {case.mask}"

    def prepare(self, case: Case, inputs: Any) -> Call:
        """Copy the weights into the module; True in its mask drops, unlike in SDPA."""
        import torch

        hidden: Hidden = inputs
        states, weights = hidden.states, hidden.weights
        module = torch.nn.MultiheadAttention(
            case.width, case.heads, bias=False, batch_first=True,
            device=states.device, dtype=states.dtype,
        )  # fmt: skip
        packed = torch.cat([weights[name] for name in ("query", "key", "value")])
        module.load_state_dict({"in_proj_weight": packed, "out_proj.weight": weights["output"]})
        module.eval().requires_grad_(False)
        options: dict[str, Any] = {"need_weights": False}
        if case.mask != "full":
            options |= {"is_causal": True, "attn_mask": ~hidden.keep()[0, 0]}

        def call() -> torch.Tensor:
            output: torch.Tensor = module(states, states, states, **options)[0]
            return output

        return call


@backend
class Projections(Backend):
    """The four matrix products of a layer, without the attention between them.

    The fourth takes the values in place of the heads: the same shape, so the same cost.
    """

    name = "projections"
    work = "projections"

    def unsupported(self, case: Case) -> str | None:
        """Refuse gradients: the products are written in place."""
        return None if case.phase == "forward" else "the products are written in place"

    def prepare(self, case: Case, inputs: Any) -> Call:
        """Return a call that computes [4 batch, length, width], one product after another."""
        import torch

        hidden: Hidden = inputs
        states = hidden.states.flatten(0, 1)
        query, key, value, output = (weight.mT for weight in hidden.weights.values())
        shape = (4 * case.batch, case.length_query, case.width)

        def call() -> torch.Tensor:
            found = torch.empty(4, *states.shape, dtype=states.dtype, device=states.device)
            torch.mm(states, query, out=found[0])
            torch.mm(states, key, out=found[1])
            torch.mm(states, value, out=found[2])
            torch.mm(found[2], output, out=found[3])
            return found.view(shape)

        return call


class Recurrent(Backend):
    """Take one step per position: position i waits for the state of position i - 1."""

    module: ClassVar[str]

    def unsupported(self, case: Case) -> str | None:
        """Measure forward only."""
        return None if case.phase == "forward" else "a recurrence is measured forward only"

    def prepare(self, case: Case, inputs: Any) -> Call:
        """Return a call that computes the states [batch, length, width]."""
        import torch

        hidden: Hidden = inputs
        states = hidden.states
        module = getattr(torch.nn, self.module)(
            case.width, case.width, batch_first=True, device=states.device, dtype=states.dtype
        )
        module.load_state_dict({f"{name}_l0": one for name, one in hidden.weights.items()})
        module.eval().requires_grad_(False)
        # On a chip cuDNN would round float32 to TF32's ten bits; nothing else here uses this flag.
        torch.backends.cudnn.allow_tf32 = False

        def call() -> torch.Tensor:
            output: torch.Tensor = module(states)[0]
            return output

        return call


@backend
class Rnn(Recurrent):
    """torch.nn.RNN with tanh."""

    name = "rnn"
    work = "rnn"
    module = "RNN"


@backend
class Gru(Recurrent):
    """torch.nn.GRU: three gates."""

    name = "gru"
    work = "gru"
    module = "GRU"


@backend
class Lstm(Recurrent):
    """torch.nn.LSTM: four gates and a memory."""

    name = "lstm"
    work = "lstm"
    module = "LSTM"
