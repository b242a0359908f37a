"""Rule files read with clingo's own parser, and their comments.

A file's comments carry its declarations (``%*! … *%``), its labels (``%!trace_rule``) and its
header (``% Purpose``, ``% Input``, ``% Output``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from clingo import ast
from clingo.core import MessageCode

from ullage.findings import Finding, Position, counted
from ullage.rules.declared import Docstring
from ullage.rules.reader import FORBIDDEN, Reader, Refused, blanked
from ullage.rules.terms import Label, Rule
from ullage.stored import AnyPath
from ullage.textfiles import decode, place_at, read_bytes, shown_path

_LABEL = re.compile(r'%!trace_rule\s*\{\s*"((?:[^"\\]|\\.)*)"\s*((?:,\s*\w+\s*)*)\}\s*\.\s*')
_HEADER = re.compile(r"%\s*(Purpose|Input|Output)\b[ \t:]*(.*)")
_SIGNATURE = re.compile(r"(_*[a-z][A-Za-z0-9_']*)/([0-9]+)")
_CLINGO = re.compile(
    r"^(.*?):(\d+):(\d+)(?:-(?:(\d+):)?(\d+))?: (error|warning|info|note): (.*)", re.S
)


@dataclass(slots=True)
class RuleFile:
    """One file of rules; ``parsed`` says whether clingo's parser could read it."""

    path: str
    text: str
    rules: list[Rule] = field(default_factory=list)
    docstrings: list[Docstring] = field(default_factory=list)
    header: dict[str, tuple[str, Position]] = field(default_factory=dict)
    statements: list[ast.AST] = field(default_factory=list)
    parsed: bool = False


def parse_label(comment: str, at: Position) -> Label | Finding:
    """The label in a ``%!trace_rule`` comment, or what is wrong with it."""
    match = _LABEL.fullmatch(comment.strip())
    if match is None:
        return Finding(
            "bad-label",
            "the label cannot be read",
            (at,),
            'write `%!trace_rule {"words with % for each argument", A, B}.`',
        )
    text = match.group(1).replace('\\"', '"').replace("\\\\", "\\")
    args = tuple(a.strip() for a in match.group(2).split(",") if a.strip())
    if text.count("%") != len(args):
        return Finding(
            "bad-label",
            f"the label has {counted(text.count('%'), 'place')} and "
            f"{counted(len(args), 'argument')}",
            (at,),
            "each `%` stands for one argument",
        )
    return Label(text, args, at)


_TOKENS = {
    "<IDENTIFIER>": "name",
    "<NUMBER>": "number",
    "<VARIABLE>": "variable",
    "<STRING>": "text",
    "<ANONYMOUS>": "`_`",
}


def _said(message: str) -> str:
    """clingo's account of a syntax error, without the list of what it would have taken."""
    match = re.search(r"unexpected (.+?)(?:, expecting .*)?$", " ".join(message.split()))
    if match is None:
        return "the text is no rule"
    what = _TOKENS.get(match.group(1), match.group(1))
    if what in _TOKENS.values():
        return f"an unexpected {what}"
    if what in ("<EOF>", "EOF"):
        return "the file ends inside a rule"
    return f"an unexpected `{what.strip('<>')}`"


_FIGURE = re.compile(r"(?<![\w\"])[0-9]+(?:\.[0-9]+)?(?:\s+[A-Za-z][A-Za-z/]*|%)?")


def _bare_figure(reader: Reader, place: Position) -> Finding | None:
    """A figure that stands without quotes just before a place where reading stopped."""
    for number in (place.line, place.line - 1):
        for match in _FIGURE.finditer(blanked(reader.line(number))):
            text = match.group()
            here = number == place.line and match.start() < place.column <= match.end() + 1
            # A decimal's point ends a rule, so that reading stops somewhere behind it.
            if (here and not text.isdigit()) or "." in text:
                return Finding(
                    "rule-syntax",
                    f"the figure `{text}` stands without quotes",
                    (Position(place.file, number, match.start() + 1),),
                    f'write it in quotes, as in `"{text}"`',
                )
    return None


def clingo_findings(messages: Sequence[str], code: str, reader: Reader) -> list[Finding]:
    """clingo's messages as findings at the author's positions."""
    found = []
    for message in messages:
        match = _CLINGO.match(message.strip())
        if match is None:
            continue
        file, line, column, _, _, severity, text = match.groups()
        if severity in ("info", "note"):
            continue
        first = _said(text.split("\n", 1)[0])
        place = reader.nearest(file, int(line), int(column))
        if (bare := _bare_figure(reader, place)) is not None:
            found.append(bare)
            continue
        escape = reader.bad_escape()
        if "lexer" in text and escape is not None:
            known = 'escapes are `\\"`, `\\\\` and `\\n`'
            found.append(Finding(code, "an escape that is not known", (escape,), known))
        elif "lexer" in text and (opening := reader.unclosed()) is not None:
            found.append(
                Finding(
                    code, "this comment or text has no end", (opening,), 'close it: `*%` or `"`'
                )
            )
        else:
            help = "a rule is `head :- body.`; look at the end of the line before, too"
            found.append(Finding(code, first, (place,), help))
    return found


def parse_file(path: AnyPath) -> tuple[RuleFile, list[Finding]]:
    """Read one file of rules."""
    name = shown_path(path)
    data = read_bytes(path)
    text = data if isinstance(data, Finding) else decode(data, name)
    if isinstance(text, Finding):
        return RuleFile(name, ""), [text]
    return parse_text(name, text)


def parse_text(name: str, text: str) -> tuple[RuleFile, list[Finding]]:
    """Read rules from text, as if they stood in a file of that name."""
    result = RuleFile(name, text)
    findings: list[Finding] = []
    lone = _SURROGATE.search(text)
    if lone is not None:
        place = place_at(text, lone.start(), name)
        return result, [
            Finding("rule-syntax", "a character that is no text", (place,), "take it out")
        ]
    if "\0" in text:
        place = place_at(text, text.index("\0"), name)
        return result, [Finding("rule-syntax", "a NUL character", (place,), "take it out")]
    reader = Reader(name, text)
    forbidden = _directives(name, text)
    if forbidden:
        return result, forbidden
    messages: list[str] = []

    def log(code: MessageCode, message: str) -> None:
        messages.append(message)

    nodes: list[ast.AST] = []
    try:
        ast.parse_string(text, nodes.append, logger=log)
    except RuntimeError:
        found = clingo_findings(
            [m.replace("<string>", name, 1) for m in messages], "rule-syntax", reader
        )
        return result, found or [
            Finding("rule-syntax", "the rules cannot be parsed", (Position(name, 1, 1),))
        ]
    result.parsed = True
    label: Label | None = None
    for node in nodes[1:]:
        kind = node.ast_type.name
        if kind == "Comment":
            label = _comment(node, reader, result, findings) or label
            continue
        try:
            if kind == "Rule":
                result.rules.append(reader.rule(node, label))
                result.statements.append(node)
            else:
                why, instead = FORBIDDEN.get(
                    kind, (f"`{reader.source(node)}` is no rule", "a law holds rules only")
                )
                raise Refused("forbidden-statement", why, reader.position(node), instead)
        except Refused as refused:
            findings.append(refused.finding)
        label = None
    return result, findings


def _comment(
    node: ast.AST, reader: Reader, result: RuleFile, findings: list[Finding]
) -> Label | None:
    """File the comment where it belongs; the label, where it is one."""
    value, at = node.value, reader.position(node)
    if value.startswith("%*!"):
        result.docstrings.append(Docstring(value[3:].removesuffix("*%"), at))
    elif value.startswith("%!"):
        parsed = parse_label(value, at)
        if isinstance(parsed, Label):
            return parsed
        findings.append(parsed)
        return Label("", (), at)
    elif header := _HEADER.match(value):
        word, rest = header.groups()
        if word in result.header:
            before, first = result.header[word]
            result.header[word] = (f"{before}, {rest.strip()}", first)
        else:
            result.header[word] = (rest.strip(), at)
    return None


_SURROGATE = re.compile("[\ud800-\udfff]")
_MOST_OPERATORS = 10_000
_DIRECTIVE = re.compile(r"#(script|include|external|theory|program|const)\b")
_SAID = {
    "script": FORBIDDEN["Script"],
    "include": (
        "`#include` hides where a rule stands",
        "every file below the folder is read without it",
    ),
    "external": FORBIDDEN["External"],
    "theory": FORBIDDEN["TheoryDefinition"],
    "program": FORBIDDEN["Program"],
    "const": FORBIDDEN["Definition"],
}


def _directives(name: str, text: str) -> list[Finding]:
    """Directives refused before clingo sees the text: some act while it parses."""
    plain = blanked(text)
    found = [
        Finding(
            "forbidden-statement",
            _SAID[m.group(1)][0],
            (place_at(text, m.start(1) - 1, name),),
            _SAID[m.group(1)][1],
        )
        for m in _DIRECTIVE.finditer(plain)
    ]
    # A chain of so many ends the process inside clingo's parser.
    start = 0
    for part in plain.split("."):
        if len(part) > _MOST_OPERATORS and sum(map(part.count, "+-*/\\|&?^~")) > _MOST_OPERATORS:
            found.append(
                Finding(
                    "forbidden-term",
                    f"a rule with more than {_MOST_OPERATORS} operators",
                    (place_at(text, start + len(part) - len(part.lstrip()), name),),
                    "compute in steps, each with a variable of its own",
                )
            )
        start += len(part) + 1
    # clingo cuts its messages by bytes, which ends the process at a letter outside ASCII.
    odd = _OUTSIDE_ASCII.search(plain)
    if odd is not None:
        found.append(
            Finding(
                "rule-syntax",
                f"the character `{odd.group()}` outside a string or comment",
                (place_at(text, odd.start(), name),),
                "names and variables are ASCII; put other text in double quotes",
            )
        )
    return found


_OUTSIDE_ASCII = re.compile(r"[^\x09\x0a\x0d\x20-\x7e]")


def signatures(text: str) -> set[tuple[str, int]]:
    """The ``name/arity`` pairs of a header line."""
    return {(n, int(a)) for n, a in _SIGNATURE.findall(text)}
