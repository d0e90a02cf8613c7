"""The command line: `python -m harness` or `attnbench`; looks at runs, measures but noise."""

from __future__ import annotations

import sys

import typer

from harness.commands.compare import compare
from harness.commands.explain import explain
from harness.commands.export import export
from harness.commands.history import history
from harness.commands.machine import backends, doctor, grid
from harness.commands.runs import claims, report, show_run
from harness.commands.site import site
from harness.faults import one_line

app = typer.Typer(
    help="Look at attention benchmarks. Measuring is done by: pytest suites --benchmark-only",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (backends, grid, doctor, report, claims, explain, compare, history, export, site):
    app.command()(command)
app.command("show")(show_run)


def main() -> None:
    """Run the command line; a wrong input is one line on standard error and exit code 2."""
    try:
        app()
    except (ValueError, OSError) as error:
        print(f"attnbench: {one_line(error)}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
