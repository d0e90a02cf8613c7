"""The command line: `python -m harness` or `attnbench`; looks at runs, never measures one."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from harness.settings import find_device, from_environment

if TYPE_CHECKING:
    from harness.example import Example

WIDTH = 100
app = typer.Typer(
    help="Look at attention benchmarks. Measuring is done by: pytest suites --benchmark-only",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
RunName = Annotated[
    str | None, typer.Argument(metavar="[RUN]", help="Name or folder of a run; the newest if none")
]
Results = Annotated[
    Path | None, typer.Option("--results", help="Folder of runs (default: ATTN_RESULTS, results)")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a machine to read")]
Device = Annotated[str, typer.Option("--device", help="auto, cpu, cuda or cuda:N")]


def main() -> None:
    """Run the command line; a wrong input is one line on standard error and exit code 2."""
    try:
        app()
    except (ValueError, OSError) as error:
        print(f"attnbench: {error}", file=sys.stderr)
        sys.exit(2)


@app.command()
def backends(device: Device = "auto", *, as_json: Json = False) -> None:
    """List every backend and, by a tiny call on each, whether it works here.

    Example: attnbench backends --device cpu
    """
    from harness.pool.orders import WorkerSpec
    from harness.pool.pool import make_pool
    from harness.report.listing import backend_table
    from harness.settings import known_backends

    chosen = find_device(device)
    pool = make_pool("local", WorkerSpec(device=chosen), replicas=1, timeout_s=120.0)
    try:
        names = known_backends([])
        reasons = pool.probe(names)
    finally:
        pool.close()
    rows = [{"backend": name, "device": chosen, "reason": reasons.get(name)} for name in names]
    show(rows, backend_table(rows), as_json=as_json)


@app.command()
def grid(
    name: Annotated[str, typer.Argument(help="Name of a grid, or a path to a .toml file")],
    device: Device = "auto",
    *,
    as_json: Json = False,
) -> None:
    """List the cases of a grid, without measuring any.

    Example: attnbench grid quick
    """
    from harness.grid import load_grid
    from harness.report.listing import case_table

    loaded = load_grid(name)
    cases = list(loaded.cases(find_device(device)))
    rows = [{"suite": suite, "id": case.id} | case.as_dict() for suite, case in cases]
    show(rows, case_table(loaded, cases), as_json=as_json)


@app.command()
def doctor(results: Results = None, *, as_json: Json = False) -> None:
    """Check what would spoil a measurement on this machine, with advice; 1 if something would.

    Example: attnbench doctor
    """
    from dataclasses import asdict

    from harness.measure.doctor import checks
    from harness.report.listing import check_table

    found = checks(folder_of(results))
    show([asdict(check) for check in found], check_table(found), as_json=as_json)
    if any(check.level == "fail" for check in found):
        raise typer.Exit(1)


@app.command()
def report(
    run: RunName = None,
    results: Results = None,
    reports: Annotated[Path, typer.Option(help="Folder of reports")] = Path("reports"),
) -> None:
    """Build the report of a run again, also of one that was cut short.

    Example: attnbench report
    """
    from harness.report.build import report_and_summarise
    from harness.store import find_run

    report_and_summarise(find_run(folder_of(results), run), reports, sys.stdout)


@app.command()
def claims(run: RunName = None, results: Results = None, *, as_json: Json = False) -> None:
    """Judge every claim on a run's tables; exit 1 if one is refuted.

    Example: attnbench claims --json
    """
    from harness.analysis.claims import judge
    from harness.store import find_run, load_run

    loaded = load_run(find_run(folder_of(results), run))
    verdicts = judge(loaded.table, loaded.facts, loaded.conformance)
    sentences = "\n".join(verdict.sentence for verdict in verdicts)
    show([verdict.as_dict() for verdict in verdicts], sentences, as_json=as_json)
    if any(verdict.verdict == "refuted" for verdict in verdicts):
        raise typer.Exit(1)


@app.command()
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

    from harness.example import drawn, forbidding, worked
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
    from harness.pool.orders import WorkerSpec
    from harness.pool.pool import make_pool
    from harness.settings import chosen_backends

    usual = [n for n, one in BACKENDS.items() if one.work == "attention" and not one.compiled]
    names = list(chosen_backends(wanted)) or usual
    pool = make_pool("local", WorkerSpec(device=device), replicas=1, timeout_s=120.0)
    try:
        missing = {} if wanted else pool.probe(names)
        names = [name for name in names if name not in missing]
        return [pool.explain(example.order(), names) for example in examples]
    finally:
        pool.close()


@app.command("show")
def show_run(run: RunName = None, results: Results = None, *, as_json: Json = False) -> None:
    """List the cells of a run with their status, time and memory.

    Example: attnbench show --json
    """
    from harness.report.listing import cell_table
    from harness.store import find_run, load_run

    loaded = load_run(find_run(folder_of(results), run))
    rows = json.loads(loaded.table.to_json(orient="records", double_precision=15))
    show(rows, cell_table(loaded), as_json=as_json)


def folder_of(results: Path | None) -> Path:
    """Return the folder of runs: the option, else ATTN_RESULTS, else results/."""
    return results or Path(from_environment("results") or "results")


def show(rows: Any, text: Any, *, as_json: bool) -> None:
    """Print the same thing for a machine or for a person."""
    if as_json:
        print(json.dumps(rows, indent=1, allow_nan=False))
    else:
        Console(width=WIDTH, highlight=False).print(text, markup=False)


if __name__ == "__main__":
    main()
