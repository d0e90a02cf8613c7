"""The command line: `python -m harness` or `attnbench`; looks at runs, measures but noise."""

from __future__ import annotations

import sys

import typer

from harness.cases.text import one_line
from harness.cli.compare import compare, history
from harness.cli.explain import explain
from harness.cli.export import export, site
from harness.cli.machine import backends, doctor, grid
from harness.cli.runs import claims, report, show_run

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
