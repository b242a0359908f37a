"""JSON Schemas of facts, made of the declarations of tables, for editors to complete and check by.

They are of draft 7, which the YAML servers of editors know best. A schema takes whatever the loader
takes, and refuses what it can: editors type scalars by YAML's rules before a schema sees them, so
that of ``010`` it sees a number, and what the text was is lost.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction

from ullage.declarations import Column, Declarations, Table
from ullage.facts import FactBase
from ullage.sorts import COUNT_RANGE, BoolSort, ClosedSort, CountSort, ExactSort, Scalar, exact_text

Schema = dict[str, object]

DRAFT = "http://json-schema.org/draft-07/schema#"
WRITTEN = "Written by `ullage schema`; change the declarations of tables, not this file."
"""The comment in each schema, by which stale files are known."""

_NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:/[0-9]+(?:\.[0-9]+)?)?"
_NOTHING = r"0+(?:\.0+)?(?:/[0-9]+(?:\.[0-9]+)?)?"
_RANGE = r"[0-9]{1,9}(?:\.\.[0-9]{1,9}(?:/[0-9]{1,9})?)?"

# What YAML makes of words without quotes, in its versions 1.1 and 1.2.
_TYPED = {
    **dict.fromkeys(("true", "yes", "on", "y"), True),
    **dict.fromkeys(("false", "no", "off", "n"), False),
}


def fact_file_schema(declarations: Declarations, base: FactBase | None = None) -> Schema:
    """The schema of a fact file, complete in itself.

    With ``base`` the keys of its rows are offered where a column references them; others are taken,
    too, as somebody may be about to add their rows.
    """
    tables = _given(declarations)
    return {
        "$schema": DRAFT,
        "$comment": WRITTEN,
        "title": "facts",
        "description": "Rows of tables: each key is a table's name, its value a list of rows.",
        "type": ["object", "null"],
        "properties": {name: {"$ref": f"#/definitions/{name}"} for name in tables},
        "additionalProperties": False,
        "definitions": {name: _table(table, base) for name, table in tables.items()},
    }


def table_schemas(declarations: Declarations, base: FactBase | None = None) -> dict[str, Schema]:
    """The schema of the list of rows of each table that facts may fill, by name."""
    head: Schema = {"$schema": DRAFT, "$comment": WRITTEN}
    return {name: head | _table(table, base) for name, table in _given(declarations).items()}


def _given(declarations: Declarations) -> Mapping[str, Table]:
    return {name: t for name, t in declarations.tables.items() if t.computed is None}


def _table(table: Table, base: FactBase | None) -> Schema:
    columns = [*table.key, *table.columns.values()]
    required = [c.name for c in columns if c.required]
    properties = {c.name: _column(c, base) for c in columns}
    properties["source"] = _source(table.source_required)
    if table.source_required:
        required.append("source")
    row: Schema = {
        "title": f"a row of {table.name}",
        "description": table.doc,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    return {
        "title": table.name,
        "description": table.doc,
        "type": ["array", "null"],
        "items": row,
    }


def _source(required: bool) -> Schema:
    parts: Schema = {
        "type": "array",
        "items": {"type": ["string", "number", "boolean", "null"]},
        "minItems": int(required),
    }
    one = ["string", "number", "boolean"] + ([] if required else ["null"])
    return {
        "title": "source",
        "description": "Where the figures of the row are from: a text, or a list of texts.",
        "anyOf": [{"type": one}, parts],
    }


def _column(column: Column, base: FactBase | None) -> Schema:
    """The schema of a cell: absent where the column is not required."""
    one = _scalar(column)
    known = _known(column, base)
    if known:
        # Completion, and no check: other names are taken.
        one = {"anyOf": [{"enum": known}, one]}
    if column.ranges:
        number: Schema = {"anyOf": [one, {"type": "string", "pattern": f"^\\s*{_RANGE}\\s*$"}]}
        one = {"anyOf": [*_alternatives(number), _list(number, at_least=1)]}
    elif column.many:
        one = _list(one, at_least=0)
    if not column.required:
        one = {"anyOf": [*_alternatives(one), {"type": "null"}]}
    told: Schema = {"title": column.name, "description": _description(column)}
    if column.default is not None:
        told["default"] = _typed_default(column)
    return told | one


def _alternatives(schema: Schema) -> Sequence[object]:
    parts = schema.get("anyOf")
    return parts if isinstance(parts, list) and len(schema) == 1 else [schema]


def _list(item: Schema, *, at_least: int) -> Schema:
    return {"type": "array", "items": item, "minItems": at_least}


def _typed_default(column: Column) -> object:
    text = column.default or ""
    if isinstance(column.sort, BoolSort):
        return text == "true"
    return int(text) if isinstance(column.sort, CountSort) else text


def _description(column: Column) -> str:
    """What a column means, and how its values are written."""
    sort = column.sort
    parts = [column.doc] if column.doc else []
    if isinstance(sort, ExactSort):
        units = ", ".join(u or "none" for u in sort.units)
        parts.append(f"Of sort {sort.name}; units: {units}.")
    elif not isinstance(sort, ClosedSort):
        parts.append(f"Of sort {sort.name}.")
    if column.references:
        parts.append(f"Names a row of {' or '.join(column.references)}.")
    for word, bound in (("least", column.minimum), ("most", column.maximum)):
        if bound is not None:
            unit = ""
            if isinstance(sort, ExactSort):
                unit = next((f" {u}" for u, size in sort.units.items() if u and size == 1), "")
            parts.append(f"At {word} {exact_text(bound)}{unit}.")
    return " ".join(parts)


def _scalar(column: Column) -> Schema:
    """The schema of one value that is there."""
    sort = column.sort
    if isinstance(sort, BoolSort):
        return {"type": ["boolean", "string"], "pattern": "^(?:true|false)$"}
    if isinstance(sort, ClosedSort):
        typed = dict.fromkeys(_TYPED[word] for word in sort.values if word in _TYPED)
        return {"enum": [*sort.values, *typed]}
    if isinstance(sort, CountSort):
        return _count(column)
    if isinstance(sort, ExactSort):
        return _exact(column, sort)
    return {"type": ["string", "number", "boolean"]}


def _count(column: Column) -> Schema:
    most = Fraction(COUNT_RANGE - 1)
    low = Fraction(0) if column.minimum is None else max(column.minimum, -most)
    high = most if column.maximum is None else min(column.maximum, most)
    number = "-?[0-9]{1,40}" if low < 0 else "(?:[0-9]{1,40}|-0{1,40})"
    return {
        "type": ["integer", "string"],
        "pattern": f"^\\s*{number}\\s*$",
        "minimum": _json_number(low),
        "maximum": _json_number(high),
    }


def _exact(column: Column, sort: ExactSort) -> Schema:
    low = Fraction(0) if column.minimum is None else column.minimum
    number = f"-?{_NUMBER}" if low < 0 else f"(?:{_NUMBER}|-{_NOTHING})"
    # The longest first, so that no unit stands for the beginning of another.
    units = "|".join(re.escape(u) for u in sorted(sort.units, key=lambda u: (-len(u), u)))
    schema: Schema = {
        "type": "string",
        "pattern": f"^\\s*{number}\\s*(?:{units})\\s*$",
    }
    size = sort.units.get("")
    if size is not None:
        schema["type"] = ["number", "string"]
        schema["minimum"] = _json_number(low / size)
        if column.maximum is not None:
            schema["maximum"] = _json_number(column.maximum / size)
    return schema


def _json_number(value: Fraction) -> int | float:
    return value.numerator if value.denominator == 1 else float(value)


def _known(column: Column, base: FactBase | None) -> list[Scalar]:
    """The keys of rows that a column of names may name, in order."""
    if base is None or isinstance(column.sort, ClosedSort | BoolSort | ExactSort):
        return []
    keys = {r.key[0] for name in column.references for r in base.rows.get(name, ())}
    return sorted(keys, key=lambda k: (str(type(k)), k))
