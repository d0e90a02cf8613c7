"""The command line: `python -m harness` or `attnbench`; looks at runs, measures but noise."""

from __future__ import annotations

import sys
from importlib import import_module

import typer

from harness.cases.text import one_line

# A new command is a function of harness/cli and a line here, in the order of --help.
COMMANDS = {
    "backends": "listing:backends",
    "grid": "listing:grid",
    "doctor": "doctor:doctor",
    "report": "runs:report",
    "claims": "runs:claims",
    "explain": "explain:explain",
    "compare": "compare:compare",
    "history": "compare:history",
    "export": "export:export",
    "site": "export:site",
    "show": "runs:show_run",
}

app = typer.Typer(
    help="Look at attention benchmarks. Measuring is done by: pytest suites --benchmark-only",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for name, place in COMMANDS.items():
    module, function = place.split(":")
    app.command(name)(getattr(import_module(f"harness.cli.{module}"), function))


def main() -> None:
    """Run the command line; a wrong input is one line on standard error and exit code 2."""
    try:
        app()
    except (ValueError, OSError) as error:
        print(f"attnbench: {one_line(error)}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
