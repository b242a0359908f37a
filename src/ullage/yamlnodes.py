"""YAML files as nodes with places: scalars stay text, and what is amiss is a list of findings.

Nothing is ever constructed: YAML's own typing (``NO``, ``010``, ``1:30``, dates) has no say. The
tree is bounded in depth and, through aliases, in size, so that a walk over it always ends.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from ullage.findings import Finding, Position
from ullage.stored import AnyPath
from ullage.textfiles import BYTE_ORDER_MARK, decode, place_at, read_bytes, shown_path

ABSENT = frozenset({"", "null", "~"})
"""Plain scalars that stand for no value; the same words in quotes are text."""

YAML_ENDINGS = (".yaml", ".yml")

MAX_DEPTH = 50
"""Deepest nesting of lists and mappings in one file."""

ALIAS_FACTOR = 10
"""How many times larger than its own nodes a file may become by its aliases."""

ALIAS_ALLOWANCE = 1000
"""Nodes that aliases may add whatever a file's size."""

_MAX_TAB_LINES = 20

_MARKER = re.compile(rb"(?:^|[\s\[\]{},:?-])[!&*]")
_TAG = re.compile(r"(?:&\S+\s+)?(![^\s,\[\]{}]*)")
_CONTROL = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Document:
    """One YAML file as read.

    ``root`` is None where the file holds nothing or could not be read; ``complete`` is false in
    the second case only. ``text`` is the file's text as far as it is known. ``shared`` says whether
    aliases may let a node stand in more than one place.
    """

    file: str
    root: Node | None
    findings: tuple[Finding, ...]
    complete: bool
    text: str = field(default="", repr=False)
    shared: bool = False


class _TooDeep(Exception):
    def __init__(self, mark: Any) -> None:
        self.mark = mark
        super().__init__("too deep")


def _bounded_loader(base: Any) -> Any:
    """A loader on ``base`` that resolves no types and stops at MAX_DEPTH."""

    class BoundedLoader(base):  # type: ignore[misc]
        """Composes nodes only."""

        def __init__(self, stream: bytes) -> None:
            super().__init__(stream)
            self.depth = 0

        def resolve(self, kind: object, value: object, implicit: object) -> str:
            """No tag: a column's sort says what a scalar means."""
            return ""

        # Both composers call this pair around every node; the C one recurses without a bound.
        def descend_resolver(self, parent: Node | None, index: object) -> None:
            """Count a level down."""
            self.depth += 1
            if self.depth > MAX_DEPTH and parent is not None:
                raise _TooDeep(parent.start_mark)

        def ascend_resolver(self) -> None:
            """Count a level up."""
            self.depth -= 1

    return BoundedLoader


_LOADER = _bounded_loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader))


@contextmanager
def collector_paused() -> Iterator[None]:
    """No garbage collection within: building a large tree makes no garbage, only work for it."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def read_document(path: AnyPath) -> Document:
    """The file at ``path`` as nodes; a file that cannot be read is a finding, never an exception.

    Codes: ``unreadable-file`` and those of ``compose_document``.
    """
    data = read_bytes(path)
    file = shown_path(path)
    if isinstance(data, Finding):
        return Document(file, None, (data,), False)
    return compose_document(data, file)


def compose_document(data: bytes, file: str) -> Document:
    """The nodes of one YAML text.

    Codes: ``not-utf8``, ``yaml-syntax``, ``yaml-tab``, ``yaml-tag``, ``alias-expansion``.
    Duplicate keys are for the reader of a mapping to find, see ``Nodes.entries``.
    """
    data = data.removeprefix(BYTE_ORDER_MARK)
    text = decode(data, file)
    if isinstance(text, Finding):
        return Document(file, None, (text,), False, data.decode("utf-8", "replace"))
    try:
        root = _compose(data)
    except _TooDeep as error:
        finding = Finding(
            "yaml-syntax",
            f"lists and mappings are nested more than {MAX_DEPTH} deep",
            (_at(error.mark, file),),
            "write tables as lists of rows, and rows as mappings of scalars",
        )
        return Document(file, None, (finding,), False, text)
    except yaml.YAMLError as error:
        return Document(file, None, (_syntax_finding(error, text, file),), False, text)
    if root is None:
        return Document(file, None, (), True, text)
    if _MARKER.search(data) is None:
        return Document(file, root, (), True, text)
    findings, bounded = _inspect(root, text, file)
    return Document(file, root if bounded else None, tuple(findings), bounded, text, True)


@dataclass(slots=True)
class Nodes:
    """Reads the nodes of one file and collects what is amiss with their shape.

    ``what`` in each method is the thing that a node holds, as words for a message.
    """

    file: str
    findings: list[Finding] = field(default_factory=list)

    def position(self, node: Node, note: str = "") -> Position:
        """Where a node begins."""
        return Position(self.file, node.start_mark.line + 1, node.start_mark.column + 1, note)

    def report(self, code: str, message: str, node: Node, *more: Position, help: str = "") -> None:
        """Note a finding at a node."""
        self.findings.append(Finding(code, message, (self.position(node), *more), help))

    def entries(self, node: Node | None, what: str) -> dict[str, tuple[ScalarNode, Node]]:
        """The entries of a mapping by key, each with the nodes of key and value; {} where absent.

        Codes: ``not-a-mapping``, ``not-a-scalar`` (a key), ``duplicate-mapping-key`` (the first
        entry stands).
        """
        if node is None or is_absent(node):
            return {}
        if not isinstance(node, MappingNode):
            self.report(
                "not-a-mapping",
                f"{what} is {kind_of(node)}, not a mapping",
                node,
                help="write `name: value` lines",
            )
            return {}
        found: dict[str, tuple[ScalarNode, Node]] = {}
        for key, value in node.value:
            if not isinstance(key, ScalarNode):
                self.report(
                    "not-a-scalar",
                    f"a key of {what} is {kind_of(key)}, not a name",
                    key,
                    help="write a plain name before the colon",
                )
            elif key.value in found:
                first = self.position(found[key.value][0], "has the key first")
                self.report(
                    "duplicate-mapping-key",
                    f"{what} has the key `{key.value}` twice",
                    key,
                    first,
                    help="keep one of the two",
                )
            else:
                found[key.value] = (key, value)
        return found

    def elements(self, node: Node | None, what: str) -> Sequence[Node]:
        """The elements of a list; () where absent. Code: ``not-a-list``."""
        if node is None or is_absent(node):
            return ()
        if not isinstance(node, SequenceNode):
            self.report(
                "not-a-list",
                f"{what} is {kind_of(node)}, not a list",
                node,
                help="begin each element with `- `, or write `[a, b]`",
            )
            return ()
        elements: Sequence[Node] = node.value
        return elements

    def text(self, node: Node | None, what: str) -> str | None:
        """A scalar's text; None where absent. Code: ``not-a-scalar``."""
        if node is None or is_absent(node):
            return None
        if not isinstance(node, ScalarNode):
            self.report(
                "not-a-scalar",
                f"{what} is {kind_of(node)}, not a scalar",
                node,
                help="write one value",
            )
            return None
        text: str = node.value
        return text


def is_absent(node: Node) -> bool:
    """Whether a node stands for no value: nothing, ``null`` or ``~``, unquoted."""
    return isinstance(node, ScalarNode) and not node.style and node.value in ABSENT


def kind_of(node: Node) -> str:
    """What a node is, in words for a message."""
    if isinstance(node, MappingNode):
        return "a mapping"
    if isinstance(node, SequenceNode):
        return "a list"
    return "a scalar"


def children_of(node: Node) -> list[Node]:
    """The nodes right below a node; a mapping's are its keys and values in turn."""
    if isinstance(node, MappingNode):
        return [part for entry in node.value for part in entry]
    if isinstance(node, SequenceNode):
        return list(node.value)
    return []


def _compose(data: bytes) -> Node | None:
    loader = _LOADER(data)
    try:
        with collector_paused():
            root: Node | None = loader.get_single_node()
        return root
    finally:
        loader.dispose()


def _at(mark: Any, file: str, note: str = "") -> Position:
    return Position(file, mark.line + 1, mark.column + 1, note)


def _syntax_finding(error: yaml.YAMLError, text: str, file: str) -> Finding:
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return _control_finding(text, file)
    problem = (error.problem or "").lower()
    context = (error.context or "").lower()
    mark = error.problem_mark
    tab = _tab_lines(text, mark.index, file, "tab" in problem)
    if tab:
        return Finding("yaml-tab", "a tab indents this line", tuple(tab), "indent with spaces")
    if "tag" in problem or "tag" in context.split():
        return Finding("yaml-tag", "a tag stands here", (_at(mark, file),), _TAG_HELP)
    message, help = next(
        ((ours, hint) for pattern, ours, hint in _PROBLEMS if re.search(pattern, problem)),
        ("the text is not YAML from here on", "compare it with the lines above"),
    )
    at_fault = text[mark.index : mark.index + 1]
    shown = f"`{at_fault}`" if at_fault.isprintable() and at_fault != "`" else "this character"
    message = message.replace("{char}", shown)
    positions = [_at(mark, file)]
    opened = error.context_mark
    if opened is not None and (opened.line, opened.column) != (mark.line, mark.column):
        positions.append(_at(opened, file, "is where this part begins"))
    if message.startswith(_OPENED):
        positions = [_at(opened or mark, file), _at(mark, file, "is where reading stopped")]
    return Finding("yaml-syntax", message, tuple(positions), help)


_TAG_HELP = "drop the tag: the sort of a column says how its text is read"

# Messages whose remedy is at the opening sign, which may be far above where reading stopped.
_OPENED = ("a quote is opened", "a bracket is opened")

# (a part of the parser's own words, ours, the hint); the C and the pure parser differ in places.
_PROBLEMS: tuple[tuple[str, str, str], ...] = (
    (
        "could not find expected ':'",
        "a colon is missing after a key",
        "write `name: value`, with a space after the colon",
    ),
    (
        "mapping values are not allowed",
        "a colon stands where no key can be",
        "put text that holds `: ` in quotes, or check the indentation",
    ),
    (
        "sequence entries are not allowed",
        "a `-` stands where no element can begin",
        "begin the list on a line of its own",
    ),
    (
        "cannot start any token",
        "a value cannot begin with {char}",
        "put the value in quotes",
    ),
    ("unexpected end of stream", "a quote is opened and not closed", "close the quote"),
    (
        "unexpected document indicator",
        "a quote is opened and not closed before the document ends",
        "close the quote",
    ),
    (
        "',' or ']'|',' or '}'",
        "a bracket is opened and not closed, or a comma is missing",
        "write `[a, b]` and `{a: 1, b: 2}`",
    ),
    (
        "undefined alias",
        "an alias names no anchor above it",
        "write the value itself, or set the anchor with `&` first",
    ),
    (
        "duplicate anchor|second occurrence",
        "an anchor is set twice",
        "give the second anchor another name",
    ),
    (
        "another document",
        "a second document begins here",
        "keep one document a file: drop the `---`, or split the file",
    ),
    (
        "escape",
        "an escape in the quoted text is not known",
        "write `\\\\` for a backslash, or use single quotes",
    ),
    (
        "maximum nesting depth",
        f"lists and mappings are nested more than {MAX_DEPTH} deep",
        "write tables as lists of rows, and rows as mappings of scalars",
    ),
    (
        "expected key|expected '-'|block end|document start",
        "this line does not fit the lines above it",
        "align it with its siblings",
    ),
    (
        "node content|expected the node",
        "a value is missing here",
        "write a value, or leave the key out",
    ),
    ("directive|yaml document", "a line that begins with `%` is not read", "drop the line"),
    (
        "alphabetic|anchor|alias",
        "an anchor or alias has no name",
        "put text that begins with `&` or `*` in quotes",
    ),
    (
        "block scalar|indentation indicator|comment or line break|chomping|invalid indentation",
        "text after `|` or `>` is not read",
        "begin the text on the next line, indented",
    ),
)


def _control_finding(text: str, file: str) -> Finding:
    match = _CONTROL.search(text)
    if match is None:
        return Finding("yaml-syntax", "the text is not YAML", (Position(file, 1, 1),))
    return Finding(
        "yaml-syntax",
        f"control character `U+{ord(match.group()):04X}` stands in the text",
        (place_at(text, match.start(), file),),
        "delete the character",
    )


def _tab_lines(text: str, index: int, file: str, certain: bool) -> list[Position]:
    """The lines that a tab indents, the one at ``index`` first; none where it is not one."""
    start = text.rfind("\n", 0, index) + 1
    indent = re.compile(r"[ \t]*").match(text, start)
    lead = indent.group() if indent is not None else ""
    if not ("\t" in lead and (certain or index <= start + len(lead))):
        return []
    here = place_at(text, start + lead.index("\t"), file)
    others = (
        Position(file, number, line.index("\t") + 1)
        for number, line in enumerate(text.split("\n"), start=1)
        if number > here.line and "\t" in line[: len(line) - len(line.lstrip(" \t"))]
    )
    return [here, *(p for p, _ in zip(others, range(_MAX_TAB_LINES - 1), strict=False))]


def _inspect(root: Node, text: str, file: str) -> tuple[list[Finding], bool]:
    """Findings on tags and aliases, and whether a walk over the tree is bounded.

    Sizes are computed once a node, children first, so that nothing is expanded to be counted.
    """
    findings: list[Finding] = []
    sizes: dict[int, int] = {}
    finished: list[Node] = []
    within: set[int] = set()
    references = 1
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        node, complete = stack.pop()
        identity = id(node)
        if complete:
            sizes[identity] = 1 + sum(sizes[id(c)] for c in children_of(node))
            within.discard(identity)
            finished.append(node)
        elif identity in within:
            findings.append(
                Finding(
                    "alias-expansion",
                    "an alias stands inside its own anchor",
                    (_at(node.start_mark, file),),
                    "write the value itself in place of the alias",
                )
            )
            return findings, False
        elif identity not in sizes:
            within.add(identity)
            tag = _TAG.match(text, node.start_mark.index)
            if tag is not None:
                findings.append(
                    Finding(
                        "yaml-tag",
                        f"tag `{tag.group(1)}` is not read",
                        (_at(node.start_mark, file),),
                        _TAG_HELP,
                    )
                )
            stack.append((node, True))
            children = children_of(node)
            references += len(children)
            stack += [(c, False) for c in reversed(children)]
    bound = ALIAS_ALLOWANCE + ALIAS_FACTOR * references
    for node in finished:
        if sizes[id(node)] > bound:
            findings.append(
                Finding(
                    "alias-expansion",
                    f"aliases make this value larger than {bound} nodes",
                    (_at(node.start_mark, file),),
                    "write the rows out, or use fewer aliases",
                )
            )
            return findings, False
    return findings, True
