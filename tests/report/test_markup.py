from __future__ import annotations

import pandas as pd
import pytest

from harness.report.words import markup
from tests.support.made_runs import HOSTILE


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a | b", r"a \| b"),
        ("<script>", "&lt;script&gt;"),
        ("two\nlines\r\nthree", "two lines three"),
        ("`code` & *stars*", r"\`code\` &amp; \*stars\*"),
        ("[2.05, 2.11]", r"\[2.05, 2.11\]"),
        ("out_of_memory", "out_of_memory"),
        ("_edge_", r"\_edge\_"),
        ("# title", r"\# title"),
        ("- item", r"\- item"),
        ("-0.5", "-0.5"),
        ("back\\slash", r"back\\slash"),
        ("\x1b[31mred\x00", r"\[31mred"),
        (None, "-"),
        ("", "-"),
    ],
)
def test_escape(text: object, escaped: str) -> None:
    assert markup.escape(text) == escaped


def test_no_cell_can_break_a_table() -> None:
    frame = pd.DataFrame({"name|": ["a", HOSTILE], "time": ["1.00 ms", "-"]})
    table = markup.markdown_table(frame)
    lines = table.splitlines()
    assert len(lines) == 4
    assert all(line.replace(r"\|", "").count("|") == 3 for line in lines)
    assert "<" not in table
    assert lines[1] == "| --- | ---: |"


def test_a_command_cannot_close_its_code_block() -> None:
    block = markup.code_block("pytest ```\n# Injected", "sh")
    assert block == "````sh\npytest ``` # Injected\n````"


def test_shorten_cuts_at_a_word() -> None:
    assert markup.shorten("short", 10) == "short"
    assert markup.shorten("one two three four", 12) == "one two…"
    assert len(markup.shorten("x" * 50, 20)) == 20
