"""TAP, version 14: a line a test, which harnesses of many languages read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from ullage.items import Item, Remark, Report, Run
from ullage.render.text import one_line
from ullage.testreport import Outcome

_UNPRINTABLE = re.compile("[\ufeff\ufffe\uffff]")


def tap(report: Report, run: Run) -> str:
    """The plan, then a test for each item; what is told of one stands below it as YAML.

    What is said of the whole run is a comment.
    """
    lines = ["TAP version 14", f"1..{len(report.items)}"]
    lines.append(f"# ullage {run.verb} {run.version}, exit code {run.status}: {run.meaning}")
    lines += [f"# {one_line(text)}" for text in report.said]
    for number, item in enumerate(report.items, 1):
        lines += _test(number, item, run)
    return "".join(f"{line}\n" for line in lines)


def _test(number: int, item: Item, run: Run) -> Iterator[str]:
    failed = item.outcome in (Outcome.FAIL, Outcome.ERROR)
    skipped = item.outcome is Outcome.SKIPPED
    reason = item.remarks[0].message if item.remarks else ""
    directive = f" # SKIP {_escaped(reason)}".rstrip() if skipped else ""
    ok = "not ok" if failed else "ok"
    yield f"{ok} {number} - {_escaped(f'{item.suite}: {item.name}')}{directive}"
    if item.remarks:
        yield "  ---"
        for index, remark in enumerate(item.remarks):
            yield from _told(remark, run, "  " if index == 0 else "    ")
            if index == 0 and len(item.remarks) > 1:
                yield "  also:"
        yield "  ..."


def _told(remark: Remark, run: Run, indent: str) -> Iterable[str]:
    """A remark as a mapping of YAML; one that is not the first as an element of a list."""
    lead = indent if indent == "  " else f"{indent[:-2]}- "
    yield f"{lead}message: {_scalar(remark.message)}"
    yield f"{indent}severity: {remark.level.value}"
    yield f"{indent}code: {_scalar(remark.code)}"
    if remark.positions:
        yield f"{indent}at:"
    for position in remark.positions:
        path = run.top.path(position.file) or position.file
        yield f"{indent}  - file: {_scalar(path)}"
        yield f"{indent}    line: {position.line}"
        yield f"{indent}    column: {position.column}"
        if position.note:
            yield f"{indent}    note: {_scalar(position.note)}"
    if remark.help:
        yield f"{indent}help: {_scalar(remark.help)}"


def _escaped(text: str) -> str:
    """A text in which nothing is a directive."""
    return one_line(text).replace("\\", "\\\\").replace("#", "\\#")


def _scalar(text: str) -> str:
    """A text in double quotes, as YAML reads it back."""
    quoted = json.dumps(one_line(text), ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda m: f"\\u{ord(m.group()):04x}", quoted)
