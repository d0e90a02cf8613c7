"""The command that works attention out step by step, with every backend's answer beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli.options import Device, Json, show
from harness.run.settings import find_device

if TYPE_CHECKING:
    from harness.cases.example import Example


def explain(
    length: Annotated[int | None, typer.Option(min=1, max=512, help="Positions")] = None,
    dim: Annotated[int | None, typer.Option(min=1, max=512, help="Features")] = None,
    mask: Annotated[str, typer.Option(help="Name of a mask, as in a grid")] = "full",
    seed: Annotated[int, typer.Option(min=0, help="Seed of an example of your own")] = 0,
    backends: Annotated[str, typer.Option(metavar="A,B", help="Only these backends")] = "",
    device: Device = "auto",
    *,
    as_json: Json = False,
) -> None:
    """Work attention out step by step, with every available backend's answer beside it.

    Without --length and --dim it is the example whose first output is 17/3.
    Example: attnbench explain --length 4 --dim 8 --mask causal --seed 1
    """
    from rich.console import Group

    from harness.cases.example import drawn, forbidding, worked
    from harness.report import explain as page

    chosen = find_device(device)
    if length is None and dim is None:
        first = worked(mask, device=chosen)
        examples = [first, forbidding(first)] if mask == "full" else [first]
    else:
        examples = [drawn(length or 3, dim or 4, mask=mask, seed=seed, device=chosen)]
    answers = answers_to(examples, backends, chosen)
    pairs = list(zip(examples, answers, strict=True))
    rows = [page.as_json(*pair) for pair in pairs]
    show(rows, Group(*(page.explain_table(*pair) for pair in pairs)), as_json=as_json)


def answers_to(examples: list[Example], wanted: str, device: str) -> list[dict[str, Any]]:
    """Ask the backends wanted, else all that compute attention and need not be compiled."""
    from harness.attention.backends import BACKENDS
    from harness.run.pool import probing_pool
    from harness.run.settings import chosen_backends

    usual = [n for n, one in BACKENDS.items() if one.work == "attention" and not one.compiled]
    names = list(chosen_backends(wanted)) or usual
    with probing_pool(device) as pool:
        missing = {} if wanted else pool.probe(names)
        names = [name for name in names if name not in missing]
        return [pool.explain(example.order(), names) for example in examples]
