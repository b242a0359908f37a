"""A decision record: one run's standings, and the rows and rules that each rests on, as JSON."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from ullage.findings import Finding, PolicyError, Position, UsageError
from ullage.records.shape import first_fault
from ullage.reference.check import parse
from ullage.reference.steps import digest
from ullage.render.json_ import Json
from ullage.textfiles import decode, read_bytes, shown_path, write_whole

SCHEMA = "ullage/record/1"

_LISTS = ("rows", "rules", "tables", "standings")
_HEAD_LINES = 2
"""Lines before the first list."""


@dataclass(frozen=True, slots=True)
class RecordedRow:
    """A row that some standing rests on, with the place where it stood.

    Cells are exact text, as in proofs; a masked one is ``{"masked": digest}``. ``date`` is what the
    table's date column holds, ``digest`` the SHA-256 of table, key, cells and source.
    """

    table: str
    key: tuple[Json, ...]
    cells: Mapping[str, Json]
    source: Json
    date: Json
    file: str
    line: int
    column: int
    digest: str


@dataclass(frozen=True, slots=True)
class RecordedRule:
    """A rule that some standing rests on: its text, its label with arguments, and its place."""

    text: Json
    label: Json
    file: str
    line: int
    column: int
    digest: str


@dataclass(frozen=True, slots=True)
class RecordedTable:
    """A table that was looked through as a whole: how many rows, and the digest of theirs."""

    table: str
    rows: int
    digest: str


@dataclass(frozen=True, slots=True)
class RecordedStanding:
    """A standing as ``standings --format json`` has it, and what it rests on.

    ``rows`` and ``rules`` number those of the record from 0; ``dates`` are those of its rows.
    """

    told: Mapping[str, Any]
    rows: tuple[int, ...]
    rules: tuple[int, ...]
    tables: tuple[str, ...]
    dates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """Which standings a record holds: those of some laws, or of all; of one subject, or of all."""

    laws: tuple[str, ...] = ()
    subject: Json = None


@dataclass(frozen=True, slots=True)
class Record:
    """The record of one run. Equal runs have equal records: no clock and no chance is in it, but
    for the day that says which waivers are in force.

    ``versions`` names what concluded; ``masked`` the sensitive columns as ``table/column``, and
    ``key`` the key of their digests (None where there was none). ``origin`` is the file that it was
    read from.
    """

    versions: Mapping[str, str]
    asked: Asked
    masked: tuple[str, ...]
    key: str | None
    rows: tuple[RecordedRow, ...]
    rules: tuple[RecordedRule, ...]
    tables: tuple[RecordedTable, ...]
    standings: tuple[RecordedStanding, ...]
    origin: str = "<record>"

    @property
    def digest(self) -> str:
        """The SHA-256 of all that the record says."""
        return digest(self._content())

    @property
    def name(self) -> str:
        """The name of its file, which its content decides."""
        return f"standings-{self.digest[:16]}.json"

    @property
    def text(self) -> str:
        """The record as JSON of the schema ``ullage/record/1``: a row, rule or standing a line."""
        content = self._content()
        lists = {name: content.pop(name) for name in _LISTS}
        opening = {"schema": content.pop("schema"), "digest": self.digest}
        parts = [json.dumps(opening)[:-1], json.dumps(content)[1:-1]]
        for name, elements in lists.items():
            assert isinstance(elements, list)
            lines = ",\n".join(f"  {json.dumps(e)}" for e in elements)
            parts.append(f'"{name}": ' + (f"[\n{lines}\n ]" if lines else "[]"))
        return ",\n ".join(parts) + "}\n"

    def write(self, folder: Path) -> Path:
        """Write the record into a folder, which is made where it is missing; its file.

        The file is written whole or not at all; one that is there already stays as it is. Raises
        UsageError where the system refuses.
        """
        path = folder / self.name
        text = self.text
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if path.is_file() and path.read_bytes() == text.encode("utf-8"):
                return path
        except OSError as error:
            said = "it is no folder" if isinstance(error, FileExistsError) else error.strerror
            raise UsageError(
                f"cannot write records to `{shown_path(folder)}`: {said or error}",
                "name a folder that you may write to",
            ) from error
        write_whole(path, text)
        return path

    def line(self, kind: str, number: int) -> int:
        """The line of the record's text that has the row, rule or standing of that number."""
        line = _HEAD_LINES
        for name in _LISTS:
            count = len(getattr(self, name))
            if name == kind:
                return line + 2 + number
            line += count + 2 if count else 1
        raise KeyError(kind)

    @classmethod
    def read(cls, path: Path) -> Record:
        """The record of a file. Raises UsageError for one that the system does not let us read.

        Raises PolicyError as ``parse`` does, and for what is no UTF-8.
        """
        origin = shown_path(path)
        data = read_bytes(path)
        if isinstance(data, Finding):
            raise UsageError(data.message, "name a file that `standings --record` wrote")
        text = decode(data, origin)
        if isinstance(text, Finding):
            raise PolicyError([text])
        return cls.parse(text, origin)

    @classmethod
    def parse(cls, text: str, origin: str = "<record>") -> Record:
        """The record of a text that ``text`` gave; ``origin`` is its file, as findings name it.

        Raises PolicyError: ``json-syntax`` for what is no JSON, ``bad-record`` for what is no
        record, or was changed since it was written.
        """
        document, findings = parse(text, origin)
        if findings:
            raise PolicyError(findings)
        fault = _fault(document)
        if fault:
            raise PolicyError([_bad(fault, origin)])
        assert isinstance(document, dict)
        record = _record(document, origin)
        if record.digest != document["digest"]:
            raise PolicyError(
                [_bad("the record does not have its digest: it was changed, or cut short", origin)]
            )
        return record

    def _content(self) -> dict[str, Json]:
        return {
            "schema": SCHEMA,
            "versions": dict(self.versions),
            "asked": {"laws": list(self.asked.laws), "subject": self.asked.subject},
            "masked": {"columns": list(self.masked), "key": self.key},
            "rows": [_plain(row) for row in self.rows],
            "rules": [_plain(rule) for rule in self.rules],
            "tables": [_plain(table) for table in self.tables],
            "standings": [
                {
                    **s.told,
                    "used": {
                        "rows": list(s.rows),
                        "rules": list(s.rules),
                        "tables": list(s.tables),
                        "dates": list(s.dates),
                    },
                }
                for s in self.standings
            ],
        }


def _plain(item: RecordedRow | RecordedRule | RecordedTable) -> dict[str, Json]:
    values = ((f.name, getattr(item, f.name)) for f in fields(item))
    return {n: list(v) if isinstance(v, tuple) else v for n, v in values}


def _record(document: Mapping[str, Any], origin: str) -> Record:
    """The record of a document of the right shape."""
    standings = []
    for standing in document["standings"]:
        used = standing["used"]
        told = {k: v for k, v in standing.items() if k != "used"}
        lists = (tuple(used[k]) for k in ("rows", "rules", "tables", "dates"))
        standings.append(RecordedStanding(told, *lists))
    return Record(
        document["versions"],
        Asked(tuple(document["asked"]["laws"]), document["asked"]["subject"]),
        tuple(document["masked"]["columns"]),
        document["masked"]["key"],
        tuple(RecordedRow(**{**row, "key": tuple(row["key"])}) for row in document["rows"]),
        tuple(RecordedRule(**rule) for rule in document["rules"]),
        tuple(RecordedTable(**table) for table in document["tables"]),
        tuple(standings),
        origin,
    )


def _fault(document: object) -> str:
    """What is wrong with the shape of a document, in words; "" where it is that of a record."""
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        return f"this is no record of the schema `{SCHEMA}`"
    schema = json.loads((files("ullage") / "schemas" / "record-1.json").read_text("utf-8"))
    try:
        fault = first_fault(document, schema)
    except RecursionError:
        return "it is nested too deep"
    return fault or next(itertools.chain(_dangling(document), _forged(document)), "")


def _forged(document: Mapping[str, Any]) -> Iterator[str]:
    """What one part of a record says otherwise than another."""
    for number, row in enumerate(document["rows"]):
        if row["digest"] != digest({k: row[k] for k in ("table", "key", "cells", "source")}):
            yield f"`rows[{number}].digest` is not that of the row"
    for number, rule in enumerate(document["rules"]):
        if rule["digest"] != digest({"rule": rule["text"], "label": rule["label"]}):
            yield f"`rules[{number}].digest` is not that of the rule"
    for number, standing in enumerate(document["standings"]):
        used = standing["used"]
        dates = {document["rows"][place]["date"] for place in used["rows"]} - {None}
        if all(isinstance(date, str) for date in dates) and {*used["dates"]} != dates:
            yield f"`standings[{number}].used.dates` are not those of its rows"


def _dangling(document: Mapping[str, Any]) -> Iterator[str]:
    """The numbers and names in standings that lead nowhere."""
    tables = {table["table"] for table in document["tables"]}
    for number, standing in enumerate(document["standings"]):
        used: Mapping[str, Sequence[Any]] = standing["used"]
        for kind in ("rows", "rules"):
            for place in used[kind]:
                if place >= len(document[kind]):
                    yield f"`standings[{number}].used.{kind}` names {place}, which is not there"
        for table in used["tables"]:
            if table not in tables:
                yield f"`standings[{number}].used.tables` names `{table}`, which is not there"


def _bad(message: str, origin: str) -> Finding:
    return Finding(
        "bad-record",
        message,
        (Position(origin, 1, 1),),
        "take the file as `ullage standings --record` wrote it",
    )
