"""Files in their canonical form, each held against what it said before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from ullage.declarations import Declarations
from ullage.findings import Finding, Position
from ullage.formatting import rulestext, yamltree
from ullage.formatting.yamltext import Order, ordered, tree_text
from ullage.rules.syntax import RuleFile, parse_text
from ullage.seals import unedited
from ullage.textfiles import BYTE_ORDER_MARK, decode, shown_path
from ullage.yamlnodes import YAML_ENDINGS, compose_document, is_absent

RULE_ENDINGS = (".lp",)
ENDINGS = (*YAML_ENDINGS, *RULE_ENDINGS)
"""The endings of the files that have a canonical form."""


class FormatDefect(Exception):
    """A file would say something else than before: a defect, and never a mistake of its author."""


@dataclass(frozen=True, slots=True)
class Formatted:
    """A file before and after, and what is amiss with it.

    ``before`` is its text, or "" where it has none; ``after`` is None where the file is to be left
    alone.
    """

    path: Path
    file: str
    data: bytes
    before: str
    after: str | None
    findings: tuple[Finding, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether the file has another form than the canonical one."""
        return self.after is not None and self.after.encode() != self.data

    def unformatted(self) -> Finding:
        """The finding that it is not formatted, at the first line that changes."""
        lines = self.before.split("\n")
        other = (self.after or "").split("\n")
        same = next((n for n, (a, b) in enumerate(zip(lines, other, strict=False)) if a != b), None)
        line = min(len(lines), len(other)) if same is None else same + 1
        if self.data.startswith(BYTE_ORDER_MARK):
            line = 1
        return Finding(
            "unformatted",
            f"`{self.file}` is not in its canonical form",
            (Position(self.file, max(line, 1), 1),),
            "run `ullage fmt` without `--check`; `--diff` shows what it changes",
        )


def column_order(declarations: Declarations) -> Order:
    """The order of the columns of each table: key columns, the others as declared, the source."""
    order = {}
    for name, table in declarations.tables.items():
        columns = [*(c.name for c in table.key), *table.columns, "source"]
        order[name] = {column: place for place, column in enumerate(columns)}
    return order


def formatted(data: bytes | Finding, path: Path, order: Order) -> Formatted:
    """What a file at ``path`` holds, rules or else YAML, in its canonical form.

    Codes: those of ``compose_document`` and ``parse_text``, and ``rare-yaml``. Raises FormatDefect.
    """
    file = shown_path(path)
    if isinstance(data, Finding):
        return Formatted(path, file, b"", "", None, (data,))
    text = decode(data, file)
    if isinstance(text, Finding):
        return Formatted(path, file, data, "", None, (text,))
    if unedited(data):
        # Whoever edits it breaks the seal; a formatter must not.
        return Formatted(path, file, data, text, text)
    even = text.replace("\r\n", "\n")
    if file.endswith(RULE_ENDINGS):
        after, findings = _rules(even, file)
    else:
        after, findings = _yaml(even, file, order)
    return Formatted(path, file, data, text, after, tuple(findings))


def _yaml(text: str, file: str, order: Order) -> tuple[str | None, Sequence[Finding]]:
    document = compose_document(text.encode(), file)
    if document.findings or not document.complete:
        return None, document.findings
    try:
        tree = yamltree.read_tree(text, file)
    except yamltree.Unformattable as rare:
        return None, [rare.finding]
    after = tree_text(ordered(tree, order))
    again = compose_document(after.encode(), file)
    same = not again.findings and _plain(document.root, False) == _plain(again.root, False)
    if not same or yamltree.comments_of(text) != yamltree.comments_of(after):
        raise _defect(file)
    return after, ()


def _rules(text: str, file: str) -> tuple[str | None, Sequence[Finding]]:
    before, findings = parse_text(file, text)
    if not before.parsed:
        return None, findings
    after = rulestext.rules_text(text)
    again, _ = parse_text(file, after)
    read, other = rulestext.read_tokens(text), rulestext.read_tokens(after)
    if (
        [t.text for t in read.tokens] != [t.text for t in other.tokens]
        or rulestext.comments_of(read) != rulestext.comments_of(other)
        or _said(before) != _said(again)
    ):
        raise _defect(file)
    return after, ()


def _said(file: RuleFile) -> object:
    """What the reader of rules takes from a file, without places."""
    labels = [(r.label and (r.label.text, r.label.args)) for r in file.rules]
    statements = [str(statement) for statement in file.statements]
    header = {word: text for word, (text, _) in file.header.items()}
    return file.parsed, statements, labels, [d.text for d in file.docstrings], header


def _plain(node: Node | None, row: bool) -> object:
    """What a node says: the texts of its scalars. The columns of a row have no order."""
    if isinstance(node, ScalarNode):
        return (is_absent(node), node.value)
    if isinstance(node, SequenceNode):
        return [_plain(element, True) for element in node.value]
    if isinstance(node, MappingNode):
        entries = [(str(_plain(k, False)), _plain(v, False)) for k, v in node.value]
        return ("row", sorted(entries, key=lambda e: e[0]) if row else entries)
    return None


def _defect(file: str) -> FormatDefect:
    return FormatDefect(f"`{file}` would say something else once formatted; nothing was written")
