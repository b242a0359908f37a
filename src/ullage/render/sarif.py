"""SARIF 2.1.0, which code scanners and editors read: what is told, without what passed."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from urllib.parse import quote

from ullage.findings import Position
from ullage.items import Kind, Level, Remark, Report, Run
from ullage.render.json_ import Json
from ullage.render.text import cut, one_line

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)

_TOP = "%SRCROOT%"
_LONGEST_SENTENCE = 1000


def sarif(report: Report, run: Run) -> str:
    """One run with a result for each remark that has a place in a file.

    What has none is told in notifications of the invocation, for whoever reads results asks where
    they are. Fingerprints are made of what is said and of which file, not of lines.
    """
    remarks = report.remarks
    levels: dict[str, set[Level]] = {}
    for remark in remarks:
        levels.setdefault(remark.code, set()).add(remark.level)
    codes = {code: i for i, code in enumerate(levels)}
    rules = [_rule(code, report.kinds.get(code), of) for code, of in levels.items()]
    seen: Counter[str] = Counter()
    results: list[Json] = []
    elsewhere: list[Json] = []
    for remark in remarks:
        places = [p for p in remark.positions if run.top.path(p.file) is not None]
        if places:
            results.append(_result(remark, places, codes[remark.code], run, seen))
        else:
            elsewhere.append(_notification(remark, codes[remark.code], run))
    elsewhere += [{"level": "note", "message": _message(text)} for text in report.said]
    failed = any(isinstance(n, Mapping) and n["level"] == "error" for n in elsewhere)
    invocation: dict[str, Json] = {
        "executionSuccessful": not failed,
        "exitCode": run.status,
        "exitCodeDescription": run.meaning,
        "toolExecutionNotifications": elsewhere,
    }
    parts = {
        "automationDetails": {"id": f"ullage/{run.verb}/"},
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_TOP: {"description": {"text": "the top of the repository"}}},
    }
    driver = json.dumps({"name": "ullage", "version": run.version})[:-1]
    return (
        f'{{"$schema": {json.dumps(SCHEMA)},\n "version": "2.1.0",\n "runs": [{{\n'
        f'  "tool": {{"driver": {driver}, "rules": {_lines(rules, 3)}}}}},\n'
        + "".join(f"  {json.dumps(name)}: {json.dumps(part)},\n" for name, part in parts.items())
        + f'  "results": {_lines(results, 3)}}}]}}\n'
    )


def _lines(elements: Sequence[Json], depth: int) -> str:
    """A list with an element a line, so that texts compare by line."""
    inner = ",\n".join(f"{' ' * depth}{json.dumps(e)}" for e in elements)
    return f"[\n{inner}\n{' ' * (depth - 1)}]" if elements else "[]"


def _rule(code: str, kind: Kind | None, levels: Collection[Level]) -> Json:
    worst = next(level for level in Level if level in levels)
    short, text, page = (kind.short, kind.text, kind.page) if kind else (code, code, "")
    help = {"text": one_line(text)}
    if page:
        # Nothing is put into help, so that its braces stay as they are.
        help["markdown"] = "\n".join(map(one_line, page.split("\n")))
    return {
        "id": one_line(code),
        "shortDescription": {"text": cut(one_line(short), _LONGEST_SENTENCE)},
        "fullDescription": {"text": cut(one_line(text), _LONGEST_SENTENCE)},
        "help": help,
        "defaultConfiguration": {"level": worst.value},
    }


def _result(
    remark: Remark, places: Sequence[Position], rule: int, run: Run, seen: Counter[str]
) -> Json:
    first, *others = (_location(p, run) for p in places)
    path = run.top.path(places[0].file) or ""
    said = json.dumps([remark.code, path, *remark.identity])
    seen[said] += 1
    digest = hashlib.sha256(said.encode()).hexdigest()[:32]
    result: dict[str, Json] = {
        "ruleId": one_line(remark.code),
        "ruleIndex": rule,
        "level": remark.level.value,
        "message": _said(remark, run),
        "locations": [first],
        "partialFingerprints": {"ullage/v1": f"{digest}:{seen[said]}"},
    }
    if others:
        result["relatedLocations"] = others
    if remark.suspended:
        result["suppressions"] = [
            {
                "kind": "external",
                "status": "accepted",
                "justification": one_line(remark.suspended),
            }
        ]
    return result


def _location(position: Position, run: Run) -> Json:
    path = run.top.path(position.file) or ""
    # A name may hold half of a pair of surrogates, for which a URI has nothing.
    quoted = quote(path, safe="/", errors="replace")
    artifact: dict[str, Json] = {"uri": f"file://{quoted}"}
    if not path.startswith("/"):
        artifact = {"uri": quoted, "uriBaseId": _TOP}
    region: Json = {"startLine": position.line, "startColumn": position.column}
    location: dict[str, Json] = {
        "physicalLocation": {"artifactLocation": artifact, "region": region}
    }
    if position.note:
        location["message"] = _message(position.note)
    return location


def _notification(remark: Remark, rule: int, run: Run) -> Json:
    return {
        "level": remark.level.value,
        "message": _said(remark, run),
        "associatedRule": {"id": one_line(remark.code), "index": rule},
    }


def _said(remark: Remark, run: Run) -> Json:
    """What is told, with the places that no location can name."""
    nowhere = (p for p in remark.positions if p.file and run.top.path(p.file) is None)
    return _message(f"{remark.message}{''.join(f' ({p})' for p in nowhere)}", remark.help)


def _message(text: str, help: str = "") -> Json:
    return {"text": f"{_plain(text)}\nhelp: {_plain(help)}" if help else _plain(text)}


def _plain(text: str) -> str:
    """A text that holds no placeholder and no link, which messages may have."""
    return one_line(text).replace("{", "{{").replace("}", "}}").replace("](", "] (")
