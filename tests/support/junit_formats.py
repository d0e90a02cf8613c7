"""What readers of JUnit XML demand: junit-10.xsd of Jenkins' xunit plugin and JUnit.xsd of Ant's
junitreport; here are the attributes, the elements and their order that both allow.
"""

from __future__ import annotations

from typing import Annotated
from xml.etree import ElementTree

from pydantic import BaseModel, ConfigDict, Field

Decimal = Annotated[str, Field(pattern=r"^\d+(\.\d+)?$")]
Count = Annotated[str, Field(pattern=r"^\d+$")]


class Suite(BaseModel):
    """Attributes of a testsuite that Ant's schema requires and Jenkins' allows."""

    model_config = ConfigDict(extra="forbid")
    name: str
    package: str
    id: Count
    timestamp: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$")]
    hostname: Annotated[str, Field(min_length=1)]
    tests: Count
    failures: Count
    errors: Count
    skipped: Count
    time: Decimal


class TestCase(BaseModel):
    """Attributes of a testcase; Jenkins' schema leaves `time` open."""

    model_config = ConfigDict(extra="forbid")
    __test__ = False
    classname: Annotated[str, Field(min_length=1)]
    name: Annotated[str, Field(min_length=1)]
    time: Decimal | None = None


class Fault(BaseModel):
    """Attributes of a failure or an error."""

    model_config = ConfigDict(extra="forbid")
    type: Annotated[str, Field(min_length=1)]
    message: str


class Skipped(BaseModel):
    """Attributes of a skipped case."""

    model_config = ConfigDict(extra="forbid")
    message: str


OUTCOMES: dict[str, type[BaseModel]] = {"failure": Fault, "error": Fault, "skipped": Skipped}


def check_junit(text: str) -> ElementTree.Element:
    """Parse XML and hold it against the rules; return its root."""
    root = ElementTree.fromstring(text.encode("utf-8"))
    assert root.tag == "testsuites"
    assert not root.attrib, "Ant's schema has none here"
    for suite in root:
        _check_suite(suite)
    return root


def _check_suite(suite: ElementTree.Element) -> None:
    assert suite.tag == "testsuite"
    told = Suite.model_validate(dict(suite.attrib))
    tags = [child.tag for child in suite]
    assert tags[0] == "properties"
    assert tags[-2:] == ["system-out", "system-err"]
    assert set(tags[1:-2]) == {"testcase"}
    ended = [_check_case(case) for case in suite.iter("testcase")]
    counts = [len(ended), *(ended.count(tag) for tag in ("failure", "error", "skipped"))]
    assert [told.tests, told.failures, told.errors, told.skipped] == list(map(str, counts))


def _check_case(case: ElementTree.Element) -> str:
    TestCase.model_validate(dict(case.attrib))
    assert len(case) <= 1, "one outcome at most"
    if not len(case):
        return "passed"
    OUTCOMES[case[0].tag].model_validate(dict(case[0].attrib))
    return case[0].tag
