"""The recurrent backends: torch's RNN, GRU and LSTM, each a work with its own right answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from harness.attention.backend import Backend, Call, backend

if TYPE_CHECKING:
    import torch

    from harness.attention.hidden import Hidden
    from harness.case import Case


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
