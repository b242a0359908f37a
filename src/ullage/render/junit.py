"""JUnit's XML, which CI services read as the results of tests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from xml.etree import ElementTree as ET

from ullage.items import Item, Remark, Report, Run
from ullage.render.text import one_line
from ullage.testreport import Outcome

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_COUNTED = {
    "failures": Outcome.FAIL,
    "errors": Outcome.ERROR,
    "skipped": Outcome.SKIPPED,
}


def junit(report: Report, run: Run) -> str:
    """A suite of test cases for each suite of items, in the order in which they come first.

    What is told of an item that passed is its ``system-out``. What is said of the whole run stands
    in the properties of the first suite.
    """
    suites: dict[str, list[Item]] = {}
    for item in report.items:
        suites.setdefault(item.suite, []).append(item)
    counts = _counts(report.items)
    # Readers that hold a document to a schema know this count of suites alone.
    del counts["skipped"]
    root = ET.Element("testsuites", {"name": f"ullage {run.verb}", **counts})
    for number, (name, items) in enumerate(suites.items()):
        suite = ET.SubElement(root, "testsuite", {"name": _xml(name), **_counts(items)})
        if number == 0:
            _properties(suite, report, run)
        for item in items:
            _case(suite, item, run)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _counts(items: Sequence[Item]) -> dict[str, str]:
    counts = {name: sum(i.outcome is o for i in items) for name, o in _COUNTED.items()}
    seconds = sum(i.seconds for i in items)
    return {
        "tests": str(len(items)),
        **{name: str(count) for name, count in counts.items()},
        "time": f"{seconds:.3f}",
    }


def _properties(suite: ET.Element, report: Report, run: Run) -> None:
    told = [("version", run.version), ("exit code", f"{run.status}: {run.meaning}")]
    told += [("said", text) for text in report.said]
    properties = ET.SubElement(suite, "properties")
    for name, value in told:
        ET.SubElement(properties, "property", {"name": name, "value": _xml(value)})


def _case(suite: ET.Element, item: Item, run: Run) -> None:
    attributes = {"classname": _xml(item.suite), "name": _xml(item.name)}
    for position in item.positions[:1]:
        path = run.top.path(position.file) or position.file
        attributes |= {"file": _xml(path), "line": str(position.line)}
    attributes["time"] = f"{item.seconds:.3f}"
    case = ET.SubElement(suite, "testcase", attributes)
    told = "\n".join(line for remark in item.remarks for line in _lines(remark, run))
    first = item.remarks[0] if item.remarks else None
    message = {"message": _xml(first.message)} if first else {}
    match item.outcome:
        case Outcome.PASS if told:
            ET.SubElement(case, "system-out").text = told
        case Outcome.SKIPPED:
            ET.SubElement(case, "skipped", message)
        case Outcome.FAIL | Outcome.ERROR:
            name = "failure" if item.outcome is Outcome.FAIL else "error"
            kind = {"type": _xml(first.code)} if first else {}
            ET.SubElement(case, name, message | kind).text = told


def _lines(remark: Remark, run: Run) -> Iterable[str]:
    """A remark as text: its message, each place that it speaks of, and its help."""
    yield _xml(remark.message)
    for position in remark.positions:
        path = run.top.path(position.file) or position.file
        note = f"  {position.note}" if position.note else ""
        yield _xml(f"  {path}:{position.line}:{position.column}{note}")
    if remark.help:
        yield _xml(f"  help: {remark.help}")


def _xml(text: str) -> str:
    """A text on one line, without what XML cannot hold even escaped."""
    return _FORBIDDEN.sub("\ufffd", one_line(text))
