"""Law tests as data: given rows, expected standings and plans, and what differs, cell by cell.

A file of law tests is a mapping::

    law: node_memory                  # whose standings are expected, unless an expectation says so
    given:                            # rows that every case starts from
      host:
        - {host: box, physical_usable: 128 GiB}
    cases:
      - name: a host of 32 GiB keeps the floor
        remove: [TABLE/KEY]           # given rows to leave out
        set: {host/box/physical_usable: 32 GiB}   # TABLE/KEY/COLUMN, null to leave a column out
        given: {}                     # rows of this case alone
        expect:
          - subject: {host: box}
            verdict: established
            values: {reserve: 8 GiB}  # a bare number is in base units; null: there is none
          - plan: topology            # a plan, of which the values are compared
            subject: {artifact: a, tier: 32GiB}
            values: {recommended_nodes: 3}
        absent:                       # standings or plans that there must not be
          - subject: {host: other}

An expectation compares what it names and nothing else: ``verdict``, ``standing`` (the class),
``words``, ``values`` one by one; ``reasons`` and ``obligations`` are the whole set, written like
``relayout_backend(MARLIN)``. A case of invalid rows lists the codes under ``findings`` instead.
The parts of a composite key are joined by ``/``. A row without a ``source`` gets one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from yaml.nodes import Node, SequenceNode

from ullage.findings import Finding, Position, errors_of, similar
from ullage.policy import Policy
from ullage.results import Plan, Quantity, Standing, Term, Value, exact_text_of, value_text
from ullage.sorts import ExactSort, ScalarError, parse_exact, parse_number
from ullage.yamlnodes import Nodes, is_absent, read_document

SOURCE = "law test"
"""The source of a row that names none: a test's rows are nobody's reading."""

Cell = str | tuple[str, ...]
Row = Mapping[str, Cell]
Rows = Mapping[str, tuple[Row, ...]]

_Subject = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a case expects of one standing; None and missing values are not compared.

    With ``plan`` it is of that plan, which has values alone.
    """

    law: str
    subject: tuple[tuple[str, str], ...]
    position: Position
    verdict: str | None = None
    standing: str | None = None
    words: str | None = None
    reasons: frozenset[str] | None = None
    obligations: frozenset[str] | None = None
    values: tuple[tuple[str, str | None], ...] = ()
    plan: str = ""

    @property
    def name(self) -> str:
        """The law or plan and the subject, as mismatches begin."""
        return f"{self.plan or self.law} of {'/'.join(part for _, part in self.subject)}"


@dataclass(frozen=True, slots=True)
class LawCase:
    """One case: the rows shared by its file, its edits of them, and what it expects."""

    name: str
    position: Position
    shared: Rows
    remove: tuple[str, ...] = ()
    set: tuple[tuple[str, Cell | None], ...] = ()
    given: Rows | None = None
    expect: tuple[Expectation, ...] = ()
    absent: tuple[Expectation, ...] = ()
    findings: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class CaseFile:
    """The cases of one file, and what is wrong with it."""

    cases: tuple[LawCase, ...]
    findings: tuple[Finding, ...]


def load_cases(path: Path) -> CaseFile:
    """The cases of a file of law tests.

    Codes: those of reading YAML; ``bad-law-test`` for a key, name or case that says nothing, and
    ``no-law-tests`` for a file without a case.
    """
    document = read_document(path)
    reader = _Reader(Nodes(document.file, list(document.findings)))
    if document.root is None:
        if document.complete:
            reader.nodes.findings.append(
                _no_cases(Position(document.file, 1, 1), "the file is empty")
            )
        return CaseFile((), tuple(reader.nodes.findings))
    cases = reader.file(document.root)
    return CaseFile(tuple(cases), tuple(reader.nodes.findings))


def run_case(case: LawCase, rules: Policy) -> list[str]:
    """What differs between a case's expectations and the answers; empty where all agree.

    The case's rows stand in for the facts of ``rules``.
    """
    tables = rules.declarations.tables
    keys = {name: tuple(c.name for c in table.key) for name, table in tables.items()}
    rows, amiss = edited_rows(case, keys)
    if amiss:
        return amiss
    policy = rules.over(rows)
    errors = errors_of(policy.check())
    if errors or case.findings:
        return _compare_findings(case, errors)
    found: dict[tuple[str, str], dict[_Subject, Standing | Plan]] = defaultdict(dict)
    for standing in policy.standings():
        found["law", standing.law][_subject(standing)] = standing
    for plan in policy.plan():
        found["plan", plan.plan][_subject(plan)] = plan
    mismatches = []
    for expectation in case.expect:
        kind, told = _of(expectation, found)
        one = told.get(expectation.subject)
        if one is None:
            have = sorted(s.subject_text for s in told.values())
            mismatches.append(
                f"{expectation.name}: expected a {kind}, found none"
                f" (subjects: {', '.join(have) or 'none'})"
            )
        else:
            mismatches += compare(expectation, one)
    for expectation in case.absent:
        kind, told = _of(expectation, found)
        one = told.get(expectation.subject)
        if one is not None:
            shown = f"`{one.verdict}`" if isinstance(one, Standing) else "one"
            mismatches.append(f"{expectation.name}: expected no {kind}, found {shown}")
    return mismatches


def _of(
    expectation: Expectation,
    found: Mapping[tuple[str, str], Mapping[_Subject, Standing | Plan]],
) -> tuple[str, Mapping[_Subject, Standing | Plan]]:
    """What an expectation is of, in a word, and all that there is of it."""
    key = ("plan", expectation.plan) if expectation.plan else ("law", expectation.law)
    return "plan" if expectation.plan else "standing", found.get(key, {})


def edited_rows(
    case: LawCase, keys: Mapping[str, Sequence[str]]
) -> tuple[dict[str, list[dict[str, Cell]]], list[str]]:
    """The rows of a case, and each edit that names no row.

    ``keys`` are the key columns of each table, in order.
    """
    rows = {table: [dict(row) for row in given] for table, given in case.shared.items()}
    amiss = []

    def matching(table: str, key: str) -> list[dict[str, Cell]]:
        columns = keys.get(table, ())
        return [
            row
            for row in rows.get(table, [])
            if "/".join(str(row.get(column)) for column in columns) == key
        ]

    for path in case.remove:
        table, _, key = path.partition("/")
        chosen = matching(table, key)
        if not chosen:
            amiss.append(f"remove: no given row is `{path}`")
        for row in chosen:
            rows[table].remove(row)
    for path, value in case.set:
        table, _, rest = path.partition("/")
        key, _, column = rest.rpartition("/")
        chosen = matching(table, key)
        if not chosen:
            amiss.append(f"set: no given row is `{table}/{key}`")
        for row in chosen:
            row.pop(column, None)
            if value is not None:
                row[column] = value
    for table, added in (case.given or {}).items():
        rows.setdefault(table, []).extend(dict(row) for row in added)
    for of_table in rows.values():
        for row in of_table:
            row.setdefault("source", SOURCE)
    return rows, amiss


def compare(expectation: Expectation, told: Standing | Plan) -> list[str]:
    """What differs between an expectation and the standing or plan of its subject."""
    name = expectation.name
    mismatches = [] if isinstance(told, Plan) else _compare_verdict(expectation, told)
    values = dict[str, Value](told.values)
    for value, text in expectation.values:
        found = values.get(value)
        if not _agrees(text, found):
            shown = "none" if found is None else exact_text_of(found)
            mismatches.append(f"{name}: value `{value}`: expected {text or 'none'}, found {shown}")
    return mismatches


def _compare_verdict(expectation: Expectation, standing: Standing) -> list[str]:
    name = expectation.name
    mismatches = []
    for what, expected, found in (
        ("verdict", expectation.verdict, standing.verdict),
        ("standing", expectation.standing, standing.standing.value),
        ("words", expectation.words, standing.words),
    ):
        if expected is not None and expected != found:
            mismatches.append(f"{name}: {what}: expected `{expected}`, found `{found}`")
    mismatches += _compare_terms(name, "reasons", expectation.reasons, standing.reasons)
    mismatches += _compare_terms(name, "obligations", expectation.obligations, standing.obligations)
    return mismatches


def _compare_terms(
    name: str, what: str, expected: frozenset[str] | None, found: Iterable[Term]
) -> list[str]:
    have = {str(term) for term in found}
    if expected is None or expected == have:
        return []
    parts = []
    if missing := sorted(expected - have):
        parts.append(f"missing {', '.join(f'`{m}`' for m in missing)}")
    if extra := sorted(have - expected):
        parts.append(f"not expected {', '.join(f'`{e}`' for e in extra)}")
    return [f"{name}: {what}: {'; '.join(parts)}"]


def _agrees(text: str | None, value: Value | None) -> bool:
    if text is None or value is None:
        return text is None and value is None
    if not isinstance(value, Quantity):
        return value_text(value) == text
    quantity = value
    wanted: Fraction | None = parse_number(text)
    if wanted is None and isinstance(quantity.sort, ExactSort):
        try:
            wanted = parse_exact(text, quantity.sort)
        except ScalarError:
            return False
    return wanted == quantity.value


def _compare_findings(case: LawCase, errors: Sequence[Finding]) -> list[str]:
    codes = {finding.code for finding in errors}
    mismatches = [
        f"expected the finding `{code}`, found none of that code"
        for code in sorted(case.findings - codes)
    ]
    mismatches += [
        f"not expected: error[{finding.code}]: {finding.message}"
        + (f" at {finding.positions[0]}" if finding.positions else "")
        for finding in errors
        if finding.code not in case.findings
    ]
    return mismatches


def _subject(told: Standing | Plan) -> _Subject:
    return tuple((name, value_text(part)) for name, part in told.subject)


def _no_cases(at: Position, message: str) -> Finding:
    return Finding(
        "no-law-tests", message, (at,), "write at least one case under `cases:`, or drop the file"
    )


_FILE_KEYS = ("law", "given", "cases")
_CASE_KEYS = ("name", "remove", "set", "given", "expect", "absent", "findings")
_EXPECT_KEYS = (
    "law",
    "plan",
    "subject",
    "verdict",
    "standing",
    "words",
    "reasons",
    "obligations",
    "values",
)


_OF_STANDINGS = ("verdict", "standing", "words", "reasons", "obligations")


@dataclass(slots=True)
class _Reader:
    """Turns the nodes of one file into cases."""

    nodes: Nodes
    law: str = ""

    def file(self, root: Node) -> list[LawCase]:
        entries = self._entries(root, "a file of law tests", _FILE_KEYS)
        self.law = self.nodes.text(entries.get("law"), "`law`") or ""
        shared = self._rows(entries.get("given"))
        elements = self.nodes.elements(entries.get("cases"), "`cases`")
        if not elements:
            self.nodes.findings.append(
                _no_cases(self.nodes.position(root), "the file has no cases")
            )
        cases: dict[str, LawCase] = {}
        for element in elements:
            case = self._case(element, shared)
            if case is None:
                continue
            if case.name in cases:
                self._bad(f"a second case is named `{case.name}`", element, "rename one of the two")
            cases.setdefault(case.name, case)
        return list(cases.values())

    def _case(self, node: Node, shared: Rows) -> LawCase | None:
        entries = self._entries(node, "a case", _CASE_KEYS)
        name = self.nodes.text(entries.get("name"), "`name`")
        if not name:
            self._bad("a case has no name", node, "say in `name:` what the case shows")
            return None
        changes = self.nodes.entries(entries.get("set"), "`set`")
        case = LawCase(
            name,
            self.nodes.position(node),
            shared,
            tuple(self._texts(entries.get("remove"), "`remove`")),
            tuple((path, self._cell(value)) for path, (_, value) in changes.items()),
            self._rows(entries.get("given")),
            tuple(self._expectations(entries.get("expect"), "`expect`")),
            tuple(self._expectations(entries.get("absent"), "`absent`")),
            frozenset(self._texts(entries.get("findings"), "`findings`")),
        )
        if not (case.expect or case.absent or case.findings):
            self._bad(f"the case `{name}` expects nothing", node, "add `expect:`")
        if case.findings and (case.expect or case.absent):
            self._bad(
                f"the case `{name}` expects findings and standings",
                node,
                "rows with findings have no standings; make it two cases",
            )
        return case

    def _expectations(self, node: Node | None, what: str) -> list[Expectation]:
        found = []
        for element in self.nodes.elements(node, what):
            entries = self._entries(element, f"an element of {what}", _EXPECT_KEYS)
            plan = self.nodes.text(entries.get("plan"), "`plan`") or ""
            law = self.nodes.text(entries.get("law"), "`law`") or ("" if plan else self.law)
            subject = self.nodes.entries(entries.get("subject"), "`subject`")
            if law and plan:
                self._bad(f"an element of {what} names a law and a plan", element, "keep one")
                continue
            for key in _OF_STANDINGS if plan else ():
                if key in entries:
                    self._bad(f"a plan has no `{key}`", entries[key], "plans have values alone")
            if not (law or plan) or not subject:
                missing = "subject" if law or plan else "law"
                self._bad(f"an element of {what} names no {missing}", element, f"add `{missing}:`")
                continue
            values = self.nodes.entries(entries.get("values"), "`values`")
            found.append(
                Expectation(
                    law,
                    tuple((k, self.nodes.text(v, f"`{k}`") or "") for k, (_, v) in subject.items()),
                    self.nodes.position(element),
                    self.nodes.text(entries.get("verdict"), "`verdict`"),
                    self.nodes.text(entries.get("standing"), "`standing`"),
                    self.nodes.text(entries.get("words"), "`words`"),
                    self._terms(entries.get("reasons"), "`reasons`"),
                    self._terms(entries.get("obligations"), "`obligations`"),
                    tuple((k, self.nodes.text(v, f"`{k}`")) for k, (_, v) in values.items()),
                    plan,
                )
            )
        return found

    def _rows(self, node: Node | None) -> Rows:
        rows: dict[str, tuple[Row, ...]] = {}
        for table, (_, elements) in self.nodes.entries(node, "`given`").items():
            found = []
            for element in self.nodes.elements(elements, f"table `{table}`"):
                cells = {
                    column: self._cell(value)
                    for column, (_, value) in self.nodes.entries(element, "a row").items()
                }
                found.append({c: v for c, v in cells.items() if v is not None})
            rows[table] = tuple(found)
        return rows

    def _cell(self, node: Node) -> Cell | None:
        if isinstance(node, SequenceNode):
            return tuple(self._texts(node, "a list column"))
        return self.nodes.text(node, "a column")

    def _terms(self, node: Node | None, what: str) -> frozenset[str] | None:
        if node is None or is_absent(node):
            return None
        return frozenset(self._texts(node, what))

    def _texts(self, node: Node | None, what: str) -> list[str]:
        texts = []
        for element in self.nodes.elements(node, what):
            text = self.nodes.text(element, f"an element of {what}")
            if text is not None:
                texts.append(text)
        return texts

    def _entries(self, node: Node, what: str, known: Sequence[str]) -> dict[str, Node]:
        """The entries of a mapping by key, those that nothing reads refused."""
        entries = self.nodes.entries(node, what)
        for key, (place, _) in entries.items():
            if key not in known:
                help = similar(key, known, "key") or f"keys are {', '.join(known)}"
                self._bad(f"{what} has no key `{key}`", place, help)
        return {key: value for key, (_, value) in entries.items()}

    def _bad(self, message: str, node: Node, help: str) -> None:
        self.nodes.report("bad-law-test", message, node, help=help)
