"""Expectations written into files of law tests as the rules conclude them, for someone to read.

A case that is recorded says so, and is skipped until whoever has read it drops the line: what the
rules said is no evidence for what they say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ullage.findings import Finding, UsageError
from ullage.formatting.yamltext import Order, ordered, tree_text
from ullage.formatting.yamltree import Entry, Group, Leaf, Tree, Unformattable, read_tree
from ullage.lawtests.cases import Expectation, LawCase, value_cell
from ullage.lawtests.compare import Found, agrees, compare, found
from ullage.lawtests.rows import Giver
from ullage.results import Quantity, Standing, Value, plainly, value_text
from ullage.textfiles import decode, read_bytes, shown_path, write_whole
from ullage.yamlscalars import scalar_text

if TYPE_CHECKING:
    from ullage.policy import Policy

RECORDED = "recorded, and nobody has read it yet: drop this line once you have"
"""What a recorded case says to be skipped for."""

Cells = Mapping[str, str | list[str] | None]
"""Cells of an expectation as they are written; None is ``null``."""


@dataclass(frozen=True, slots=True)
class Record:
    """What is to be written for a case: cells of expectations by their number, and whole ones."""

    case: LawCase
    cells: Mapping[int, Cells]
    whole: Sequence[Group] = ()


class Unrecordable(Exception):
    """A case that cannot be recorded; says why."""


def recorded(case: LawCase, policy: Policy) -> Record:
    """What is concluded of a case that expects otherwise, or nothing. Raises Unrecordable."""
    given = Giver(policy).facts(case)
    if given.amiss or given.errors or case.findings:
        raise Unrecordable("what is amiss with rows is not recorded")
    of_case = policy.of_facts(given.facts)
    told = found(of_case.standings(), of_case.plan())
    if expects_nothing(case):
        if not case.law:
            raise Unrecordable("its file names no law whose standings it could expect")
        of_law = told.get(("law", case.law), {})
        if not of_law:
            raise Unrecordable(f"`{case.law}` says nothing of its rows")
        return Record(case, {}, [_whole(s) for s in of_law.values() if isinstance(s, Standing)])
    cells = {n: _cells(e, told) for n, e in enumerate(case.expect)}
    if any(told.get(e.owner, {}).get(e.subject) is not None for e in case.absent):
        raise Unrecordable("something is concluded that it expects to be absent")
    return Record(case, {n: c for n, c in cells.items() if c})


def _cells(expectation: Expectation, told: Found) -> Cells:
    """The cells of an expectation that differ, as they are concluded. Raises Unrecordable."""
    one = told.get(expectation.owner, {}).get(expectation.subject)
    if one is None:
        raise Unrecordable(f"there is no {expectation.name}")
    values = dict(one.values)
    cells: dict[str, str | list[str] | None] = {}
    for mismatch in compare(expectation, one):
        what = mismatch.what
        name = next((n for n, _ in expectation.values if value_cell(n) == what), None)
        if name is not None:
            cells[what] = _written(values[name]) if name in values else None
        else:
            assert isinstance(one, Standing)
            cells[what] = _of_standing(one)[what]
    return cells


def _written(value: Value) -> str:
    """A value as an expectation reads it: as people do, or as a bare number in base units."""
    text = plainly(value)
    return value.text if isinstance(value, Quantity) and not agrees(text, value) else text


def _of_standing(standing: Standing) -> dict[str, str | list[str] | None]:
    return {
        "verdict": standing.verdict,
        "standing": standing.standing.value,
        "words": standing.words,
        "reasons": [str(t) for t in standing.reasons],
        "obligations": [str(t) for t in standing.obligations],
    }


def _whole(standing: Standing) -> Group:
    """An expectation of all that a standing says, but for words, which its values make."""
    said = _of_standing(standing)
    entries = [
        _entry("subject", _group({n: value_text(v) for n, v in standing.subject})),
        _entry("verdict", _leaf(standing.verdict)),
    ]
    entries += [_entry(k, _value(said[k])) for k in ("reasons", "obligations") if said[k]]
    if standing.values:
        entries.append(_entry("values", _group({n: _written(v) for n, v in standing.values})))
    return Group(True, False, tuple(entries))


def expects_nothing(case: LawCase) -> bool:
    """Whether a case says nothing of what its rows are to come to."""
    return not (case.expect or case.absent or case.findings)


def write(
    records: Iterable[Record], files: Mapping[str, Path], order: Order
) -> Iterator[tuple[LawCase, str]]:
    """Write records into their files; the cases, each with why it could not be, or "".

    ``files`` are the paths by the names that positions have, ``order`` is that of the columns of
    rows. Raises UsageError where a file cannot be written.
    """
    by_file: dict[str, list[Record]] = {}
    for record in records:
        by_file.setdefault(record.case.position.file, []).append(record)
    for name, of_file in by_file.items():
        path = files[name]
        try:
            tree = _tree(path)
        except Unrecordable as error:
            yield from ((record.case, str(error)) for record in of_file)
            continue
        done = []
        for record in of_file:
            try:
                tree = _with(tree, record)
            except Unrecordable as error:
                yield record.case, str(error)
            else:
                done.append(record.case)
        if done:
            write_whole(path, tree_text(ordered(tree, order)))
        yield from ((case, "") for case in done)


def _tree(path: Path) -> Tree:
    """The tree of a file that was read before. Raises UsageError, Unrecordable."""
    data = read_bytes(path)
    text = data if isinstance(data, Finding) else decode(data, shown_path(path))
    if isinstance(text, Finding):
        raise UsageError(text.message, text.help)
    try:
        return read_tree(text.replace("\r\n", "\n"), shown_path(path))
    except Unformattable as rare:
        raise Unrecordable(f"{rare.finding.message} ({rare.finding.positions[0]})") from rare


def _with(tree: Tree, record: Record) -> Tree:
    """The tree with what is recorded for one case. Raises Unrecordable."""
    case = record.case
    root = _a_group(tree.root)
    cases = _a_group(_at(root, "cases"))
    for number, entry in enumerate(cases.entries):
        if isinstance(entry.value, Group) and _text(_at(entry.value, "name")) == case.name:
            changed = replace(entry, value=_recorded_case(_a_group(entry.value), record))
            entries = (*cases.entries[:number], changed, *cases.entries[number + 1 :])
            return replace(tree, root=_put(root, "cases", replace(cases, entries=entries)))
    raise Unrecordable("its lines are shared with others by an alias")


def _recorded_case(case: Group, record: Record) -> Group:
    if record.whole:
        _hold_nothing(_at(case, "expect"))
        expect = Group(False, False, tuple(Entry(None, g) for g in record.whole))
    else:
        expect = _a_group(_at(case, "expect"))
        entries = list(expect.entries)
        for number, cells in record.cells.items():
            of_one = _a_group(entries[number].value)
            for what, cell in cells.items():
                name, _, value = what.partition("/")
                if value:
                    values = _a_group(_at(of_one, name))
                    _hold_nothing(_at(values, value))
                    of_one = _put(of_one, name, _put(values, value, _value(cell)))
                else:
                    _hold_nothing(_at(of_one, name))
                    of_one = _put(of_one, name, _value(cell))
            entries[number] = replace(entries[number], value=of_one)
        expect = replace(expect, entries=tuple(entries))
    case = _put(case, "expect", expect)
    at = 1 + next(i for i, e in enumerate(case.entries) if e.key and e.key.value == "name")
    skip = _entry("skip", _leaf(RECORDED))
    return replace(case, entries=(*case.entries[:at], skip, *case.entries[at:]))


def _at(group: Group, key: str) -> Group | Leaf | None:
    return next((e.value for e in group.entries if e.key and e.key.value == key), None)


def _put(group: Group, key: str, value: Group | Leaf) -> Group:
    """A mapping with another value at a key, which comes last where it has none."""
    if _at(group, key) is None:
        return replace(group, entries=(*group.entries, _entry(key, value)))
    return replace(
        group,
        entries=tuple(
            replace(e, value=value) if e.key and e.key.value == key else e for e in group.entries
        ),
    )


def _hold_nothing(value: Group | Leaf | None) -> None:
    """Raises Unrecordable for what others share by an alias, and for a list with comments."""
    if value is None:
        return
    if value.anchor or (isinstance(value, Leaf) and value.style == "*"):
        raise Unrecordable("its lines are shared with others by an alias")
    if isinstance(value, Group):
        if any(e.above or e.beside or e.below for e in value.entries) or value.below:
            raise Unrecordable("comments stand in a list that would be replaced")
        for entry in value.entries:
            _hold_nothing(entry.value)


def _a_group(value: Group | Leaf | None) -> Group:
    if not isinstance(value, Group) or value.anchor:
        raise Unrecordable("its lines are shared with others by an alias")
    return value


def _text(value: Group | Leaf | None) -> str | None:
    return value.value if isinstance(value, Leaf) else None


def _entry(key: str, value: Group | Leaf) -> Entry:
    return Entry(_leaf(key), value)


def _value(cell: str | list[str] | None) -> Group | Leaf:
    if isinstance(cell, list):
        return Group(False, True, tuple(Entry(None, _leaf(text)) for text in cell))
    return Leaf("null", "null") if cell is None else _leaf(cell)


def _group(cells: Mapping[str, str]) -> Group:
    return Group(True, True, tuple(_entry(name, _leaf(text)) for name, text in cells.items()))


def _leaf(text: str) -> Leaf:
    """A text, with such quotes as it needs wherever it stands."""
    written = scalar_text(text, flow=True)
    return Leaf(written, text, '"' if written.startswith('"') else "")
