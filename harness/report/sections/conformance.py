"""The section on behaviour: what each backend does where people got hurt."""

from __future__ import annotations

from harness.report.gallery import Gallery
from harness.report.markup import details, markdown_table
from harness.report.sections.cost import join
from harness.report.tables import conformance
from harness.report.view import View

NOTE = (
    "Each behaviour has a right answer: the oracle's, or a number known beforehand. `c` conforms, "
    "`D` deviates, `r` refuses, `X` crashes. A deviation of a library that is known does not fail "
    "a run; a new one does."
)


def conformance_section(view: View, gallery: Gallery) -> str:
    """Show behaviours against backends, and below it every deviation with its reason."""
    table = view.run.conformance
    if not len(table):
        return "Not shown: no behaviour was asked for."
    matrix = conformance.conformance_matrix(table)
    odd, wrong = conformance.notable(matrix), conformance.deviations_table(table)
    refused = conformance.refusals_table(table)
    counts = ", ".join(
        f"{count} {word}" for word, count in table["verdict"].value_counts().items()
    )
    return join(
        NOTE,
        f"{len(matrix)} behaviours, {len(table)} answers: {counts}.",
        markdown_table(odd) if len(odd) else "Every backend conforms everywhere.",
        f"### Deviations\n\n{markdown_table(wrong)}" if len(wrong) else "No deviation.",
        details(f"What was refused, and why ({len(refused)} reasons)", markdown_table(refused))
        if len(refused)
        else "",
        details(f"All {len(matrix)} behaviours", markdown_table(matrix)),
    )
