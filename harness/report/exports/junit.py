"""JUnit XML: one test case for each cell and each behaviour, for the test tab of a CI server.

By hand: junitparser knows neither `package` nor `id` of a suite, which Ant's schema wants, and
writes characters that no XML can hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from xml.etree import ElementTree

from harness.records.store import Run
from harness.report.exports.rows import Case, outcomes

# All but the characters of XML 1.0 (its production `Char`): no escape makes these lawful.
UNLAWFUL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_junit(run: Run) -> str:
    """Return every cell of a run as XML that the schemas of Jenkins and of Ant both accept.

    Cells without a time are there as failure, error or skipped, with the reason. `time` is the
    median of one call in seconds, and is absent, never 0, where none was measured.
    """
    cases = outcomes(run)
    root = ElementTree.Element("testsuites")
    for number, suite in enumerate(dict.fromkeys(case.suite for case in cases)):
        root.append(_suite(number, suite, [case for case in cases if case.suite == suite], run))
    ElementTree.indent(root, " ")
    body = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def _suite(number: int, name: str, cases: list[Case], run: Run) -> ElementTree.Element:
    ended = [case.outcome for case in cases]
    known = [case.seconds for case in cases if case.seconds is not None]
    suite = _element(
        "testsuite",
        [
            ("name", name), ("package", "attention-bench"), ("id", str(number)),
            ("timestamp", _instant(run.facts.get("started"))),
            ("hostname", str(run.facts.get("fingerprint") or "unknown")),
            ("tests", str(len(cases))), ("failures", str(ended.count("failure"))),
            ("errors", str(ended.count("error"))), ("skipped", str(ended.count("skipped"))),
            ("time", _decimal(sum(known))),
        ],
    )  # fmt: skip
    suite.append(ElementTree.Element("properties"))
    suite.extend(_cases(cases))
    suite.extend([ElementTree.Element("system-out"), ElementTree.Element("system-err")])
    return suite


def _cases(cases: Iterable[Case]) -> Iterator[ElementTree.Element]:
    for case in cases:
        known = [("time", _decimal(case.seconds))] if case.seconds is not None else []
        names = [("classname", f"{case.suite}.{case.backend}"), ("name", case.name)]
        element = _element("testcase", names + known)
        if case.outcome is not None:
            attributes = [("type", case.kind), ("message", case.message)]
            # A skipped case has no type in either schema.
            child = _element(case.outcome, attributes[case.outcome == "skipped" :])
            child.text = _lawful(case.message)
            element.append(child)
        yield element


def _element(tag: str, attributes: list[tuple[str, str]]) -> ElementTree.Element:
    return ElementTree.Element(tag, {name: _lawful(value) for name, value in attributes})


def _lawful(text: str) -> str:
    """Return the text without what XML cannot hold: a crash may print anything."""
    return UNLAWFUL.sub("\ufffd", text)


def _decimal(seconds: float) -> str:
    """Return seconds without an exponent: xs:decimal has none. Twelve digits are a picosecond."""
    return f"{seconds:.12f}"


def _instant(text: object) -> str:
    """Return an instant in UTC without its offset, as the schema wants it."""
    try:
        instant = datetime.fromisoformat(str(text))
    except ValueError:
        instant = datetime.fromtimestamp(0, UTC)
    if instant.tzinfo is not None:
        instant = instant.astimezone(UTC)
    return instant.replace(tzinfo=None, microsecond=0).isoformat()
