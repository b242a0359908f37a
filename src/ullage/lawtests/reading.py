"""Files of law tests, read into cases; ``docs/testing.md`` tells their format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from yaml.nodes import Node, SequenceNode

from ullage.findings import Finding, Position, similar
from ullage.lawtests.cases import CaseFile, Cell, Expectation, LawCase, Row, Rows, value_cell
from ullage.yamlnodes import Nodes, is_absent, read_document


def load_cases(path: Path, *, may_be_empty: bool = False) -> CaseFile:
    """The cases of a file of law tests; with ``may_be_empty`` those that expect nothing, too.

    Codes: those of reading YAML; ``bad-law-test`` for a key, name or case that says nothing, and
    ``no-law-tests`` for a file without a case.
    """
    document = read_document(path)
    reader = _Reader(Nodes(document.file, list(document.findings)), may_be_empty)
    if document.root is None:
        if document.complete:
            reader.nodes.findings.append(
                _no_cases(Position(document.file, 1, 1), "the file is empty")
            )
        return CaseFile((), tuple(reader.nodes.findings))
    cases = reader.file(document.root)
    return CaseFile(tuple(cases), tuple(reader.nodes.findings))


def _no_cases(at: Position, message: str) -> Finding:
    return Finding(
        "no-law-tests", message, (at,), "write at least one case under `cases:`, or drop the file"
    )


_FILE_KEYS = ("law", "skip", "facts", "given", "cases")
_CASE_KEYS = ("name", "skip", "facts", "remove", "set", "given", "expect", "absent", "findings")
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


_NO_REASON = ("true", "false", "yes", "no", "on", "off", "0", "1")
"""What ``skip`` may be meant as a switch by."""

_OF_STANDINGS = ("verdict", "standing", "words", "reasons", "obligations")


@dataclass(slots=True)
class _Reader:
    """Turns the nodes of one file into cases."""

    nodes: Nodes
    may_be_empty: bool
    law: str = ""
    skip: str = ""
    on_catalog: bool = False

    def file(self, root: Node) -> list[LawCase]:
        entries = self._entries(root, "a file of law tests", _FILE_KEYS)
        self.law = self.nodes.text(entries.get("law"), "`law`") or ""
        self.skip = self._reason(entries)
        self.on_catalog = self._stands_on_catalog(entries)
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
            self.law,
            self._reason(entries) or self.skip,
            self._stands_on_catalog(entries) or self.on_catalog,
        )
        # One that is skipped may wait for what it is to expect.
        if not (case.expect or case.absent or case.findings or case.skip or self.may_be_empty):
            self._bad(
                f"the case `{name}` expects nothing",
                node,
                "add `expect:`; `ullage test --record` writes one for you to read",
            )
        if case.findings and (case.expect or case.absent):
            self._bad(
                f"the case `{name}` expects findings and standings",
                node,
                "rows with findings have no standings; make it two cases",
            )
        return case

    def _reason(self, entries: Mapping[str, Node]) -> str:
        """Why a file or case is skipped; empty where it is not."""
        node = entries.get("skip")
        if node is None:
            return ""
        reason = (self.nodes.text(node, "`skip`") or "").strip()
        if not reason or reason.lower() in _NO_REASON:
            self._bad("`skip` gives no reason", node, "write why, as in `skip: waits for a figure`")
        return reason

    def _stands_on_catalog(self, entries: Mapping[str, Node]) -> bool:
        node = entries.get("facts")
        if node is None:
            return False
        text = self.nodes.text(node, "`facts`")
        if text is not None and text != "catalog":
            self._bad(
                f"`facts` is `{text}`",
                node,
                "write `facts: catalog` for rows on top of the policy's facts, or drop it",
            )
        return True

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
                    self._places(entries, values),
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

    def _places(
        self, entries: Mapping[str, Node], values: Mapping[str, tuple[Node, Node]]
    ) -> dict[str, Position]:
        """Where each cell of an expectation stands: by its key, or of a value by its name."""
        found = {key: self.nodes.position(node) for key, node in entries.items()}
        found |= {value_cell(name): self.nodes.position(node) for name, (_, node) in values.items()}
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
