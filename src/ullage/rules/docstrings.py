"""Declared predicates and laws, read from the ``%*! … *%`` comments of rule files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ullage.declarations import Declarations
from ullage.findings import Finding, Position, listed, similar
from ullage.results import StandingClass
from ullage.rules.syntax import Docstring
from ullage.sorts import CountSort, ExactSort, Sort, TupleSort

BUILTIN = {"standing": 3, "reason": 3, "obligation": 3, "value": 4}
"""The predicates that every law may derive, with their arity."""

RESERVED = frozenset({*BUILTIN, "plan"})
"""Names that no docstring may declare."""

_SIGNATURE = re.compile(r"(_*[a-z][A-Za-z0-9_]*)\s*(?:\(\s*([^()]*?)\s*\))?")
_NAME = re.compile(r"_*[A-Z][A-Za-z0-9_]*")
_SECTION = re.compile(r"(Args|Subjects|Verdicts|Reasons|Obligations|Values|Frontier):\s*(.*)")
_LIKE_SECTION = re.compile(r"([A-Z][a-z]+):.*")
_ARG = re.compile(r"-\s*(\w+)\s*:\s*(\([^()]*\)|\w+)\s*(.*)")
_VERDICT = re.compile(r"-\s*([a-z]\w*)\s*\[\s*(\w+)\s*\]\s*(?::\s*(.*))?")
_TERM = re.compile(r"-\s*([a-z]\w*)\s*(?:\(([^()]*)\))?\s*(?::\s*(.*))?")
_VALUE = re.compile(r"-\s*([a-z]\w*)\s*:\s*(\w+)\s*(.*)")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate that rules derive: its arguments by name and sort, and who reads it."""

    name: str
    arguments: tuple[tuple[str, Sort], ...]
    doc: str
    position: Position
    frontier: str = ""

    @property
    def arity(self) -> int:
        """The number of arguments."""
        return len(self.arguments)


@dataclass(frozen=True, slots=True)
class TermDecl:
    """A reason or an obligation: its arguments and its words with ``{Argument}`` places."""

    name: str
    arguments: tuple[tuple[str, Sort], ...]
    words: str


@dataclass(frozen=True, slots=True)
class VerdictDecl:
    """A verdict: its class and its words with ``{value}`` places."""

    name: str
    standing: StandingClass
    words: str


@dataclass(frozen=True, slots=True)
class LawDecl:
    """A law: its subjects and the closed sets of what it may conclude."""

    name: str
    arguments: tuple[tuple[str, Sort], ...]
    doc: str
    position: Position
    subjects: str
    verdicts: Mapping[str, VerdictDecl] = field(default_factory=dict)
    reasons: Mapping[str, TermDecl] = field(default_factory=dict)
    obligations: Mapping[str, TermDecl] = field(default_factory=dict)
    values: Mapping[str, Sort] = field(default_factory=dict)

    @property
    def subject_sort(self) -> Sort:
        """The sort of a subject: that of the only argument, or the tuple of them all."""
        if len(self.arguments) == 1:
            return self.arguments[0][1]
        return TupleSort.of(*(s for _, s in self.arguments))


class _Bad(Exception):
    """What is wrong with a line of a docstring."""

    def __init__(self, code: str, message: str, line: int, help: str = "") -> None:
        self.code, self.message, self.line, self.help = code, message, line, help
        super().__init__(message)


def _sort(text: str, declarations: Declarations, line: int) -> Sort:
    if text.startswith("("):
        items = [_sort(t.strip(), declarations, line) for t in text[1:-1].split(",")]
        return TupleSort.of(*items)
    sort = declarations.sorts.get(text)
    if sort is None:
        raise _Bad(
            "unknown-sort",
            f"no sort is named `{text}`",
            line,
            similar(text, declarations.sorts, "sort"),
        )
    return sort


def _arguments(
    text: str | None, declarations: Declarations, line: int
) -> tuple[tuple[str, Sort], ...]:
    """The arguments in ``Backend: backend, Count: count``."""
    found = []
    for part in (text or "").split(","):
        if not part.strip():
            continue
        name, colon, sort = (p.strip() for p in part.partition(":"))
        if not colon or not _NAME.fullmatch(name):
            raise _Bad(
                "bad-docstring",
                f"`{part.strip()}` names no argument with its sort",
                line,
                "write `Backend: backend`",
            )
        found.append((name, _sort(sort, declarations, line)))
    _distinct([n for n, _ in found], line)
    return tuple(found)


def _distinct(names: Sequence[str], line: int) -> None:
    """Output writes arguments in snake case, where each must still have a name of its own."""
    seen: dict[str, str] = {}
    for name in names:
        first = seen.setdefault(snake(name), name)
        if first != name:
            raise _Bad(
                "bad-docstring",
                f"`{first}` and `{name}` are both `{snake(name)}` in output",
                line,
                "give one of them another name",
            )


def snake(name: str) -> str:
    """``PerDirection`` as ``per_direction``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _sections(lines: list[str]) -> tuple[str, dict[str, list[tuple[int, str]]]]:
    """The free text, and each section's entries with their line offsets."""
    doc: list[str] = []
    sections: dict[str, list[tuple[int, str]]] = {}
    current: list[tuple[int, str]] | None = None
    for offset, line in enumerate(lines, start=1):
        text = line.strip()
        match = _SECTION.fullmatch(text)
        if match:
            name, rest = match.groups()
            if name in sections:
                raise _Bad("bad-docstring", f"a second section `{name}`", offset)
            current = sections.setdefault(name, [])
            if rest:
                current.append((offset, rest))
        elif (like := _LIKE_SECTION.fullmatch(text)) and (
            hint := similar(like.group(1), _SECTION_NAMES, "section")
        ):
            raise _Bad("bad-docstring", f"no section is named `{like.group(1)}`", offset, hint)
        elif current is None:
            if text:
                doc.append(text)
        elif text.startswith("-"):
            current.append((offset, text))
        elif text and current:
            before = current.pop()
            current.append((before[0], f"{before[1]} {text}"))
    return " ".join(doc), sections


_SECTION_NAMES = ("Args", "Subjects", "Verdicts", "Reasons", "Obligations", "Values", "Frontier")


def parse(
    docstring: Docstring, declarations: Declarations
) -> tuple[Predicate | LawDecl | None, list[Finding]]:
    """The predicate or law that a docstring declares, and what is wrong with it."""
    lines = docstring.text.split("\n")
    at = docstring.position
    try:
        return _parse(lines, at, declarations), []
    except _Bad as bad:
        place = at if bad.line == 0 else Position(at.file, at.line + bad.line, 1)
        return None, [Finding(bad.code, bad.message, (place,), bad.help)]


def _parse(lines: list[str], at: Position, declarations: Declarations) -> Predicate | LawDecl:
    signature = _SIGNATURE.fullmatch(lines[0].strip())
    if signature is None:
        raise _Bad(
            "bad-docstring",
            f"`{lines[0].strip()}` is no signature",
            0,
            "write `%*! name(First, Second)` and the arguments' sorts below",
        )
    name = signature.group(1)
    listed_args = [a.strip() for a in (signature.group(2) or "").split(",") if a.strip()]
    for arg in listed_args:
        if not _NAME.fullmatch(arg):
            raise _Bad(
                "bad-docstring", f"`{arg}` is no name of an argument", 0, "names begin upper case"
            )
    twice = next((a for a in listed_args if listed_args.count(a) > 1), None)
    if twice is not None:
        raise _Bad(
            "bad-docstring",
            f"two arguments of `{name}` are named `{twice}`",
            0,
            "each argument has a name of its own",
        )
    _distinct(listed_args, 0)
    doc, sections = _sections(lines[1:])
    args: dict[str, Sort] = {}
    for line, entry in sections.get("Args", []):
        match = _ARG.fullmatch(entry)
        if match is None:
            raise _Bad("bad-docstring", f"`{entry}` is no argument", line, "write `- Host: host`")
        arg, sort, _ = match.groups()
        if arg not in listed_args:
            raise _Bad(
                "bad-docstring",
                f"`{arg}` is no argument of `{name}`",
                line,
                similar(arg, listed_args, "argument"),
            )
        if arg in args:
            raise _Bad("bad-docstring", f"a second sort of the argument `{arg}`", line, "keep one")
        args[arg] = _sort(sort, declarations, line)
    for arg in listed_args:
        if arg not in args:
            raise _Bad(
                "bad-docstring",
                f"the argument `{arg}` of `{name}` has no sort",
                0,
                f"add `- {arg}: …` under `Args:`",
            )
    arguments = tuple((a, args[a]) for a in listed_args)
    if "Verdicts" in sections:
        return _law(name, arguments, doc, at, sections, declarations)
    for section in ("Subjects", "Reasons", "Obligations", "Values"):
        if section in sections:
            raise _Bad(
                "bad-docstring",
                f"`{name}` has `{section}:` and no `Verdicts:`",
                0,
                "a law declares its verdicts",
            )
    frontier = " ".join(text for _, text in sections.get("Frontier", []))
    if "Frontier" in sections and not frontier:
        raise _Bad(
            "bad-docstring", f"`{name}` is a frontier without a consumer", 0, "name who reads it"
        )
    return Predicate(name, arguments, doc, at, frontier)


def _law(
    name: str,
    arguments: tuple[tuple[str, Sort], ...],
    doc: str,
    at: Position,
    sections: Mapping[str, list[tuple[int, str]]],
    declarations: Declarations,
) -> LawDecl:
    if not arguments:
        raise _Bad(
            "bad-docstring",
            f"the law `{name}` has no subject",
            0,
            "a law has at least one argument",
        )
    subjects = " ".join(text for _, text in sections.get("Subjects", []))
    if not subjects:
        raise _Bad(
            "bad-docstring",
            f"the law `{name}` does not say its subjects",
            0,
            "add `Subjects: host(Host)`",
        )
    verdicts: dict[str, VerdictDecl] = {}
    for line, entry in sections["Verdicts"]:
        match = _VERDICT.fullmatch(entry)
        classes = [c.value for c in StandingClass]
        if match is None or match.group(2) not in classes:
            raise _Bad(
                "bad-docstring",
                f"`{entry}` is no verdict",
                line,
                f"write `- name [class]: words`; classes are {listed(classes)}",
            )
        verdict, standing, words = match.groups()
        if verdict in verdicts:
            raise _Bad("bad-docstring", f"a second verdict `{verdict}`", line)
        verdicts[verdict] = VerdictDecl(verdict, StandingClass(standing), words or "")
    values: dict[str, Sort] = {}
    for line, entry in sections.get("Values", []):
        match = _VALUE.fullmatch(entry)
        if match is None:
            raise _Bad("bad-docstring", f"`{entry}` is no value", line, "write `- headroom: bytes`")
        if match.group(1) in values:
            raise _Bad("bad-docstring", f"a second value `{match.group(1)}`", line, "keep one")
        sort = _sort(match.group(2), declarations, line)
        if not isinstance(sort, ExactSort | CountSort):
            raise _Bad(
                "bad-docstring",
                f"a value may not be of sort `{sort.name}`",
                line,
                "values are exact figures or counts",
            )
        values[match.group(1)] = sort
    for line, entry in sections["Verdicts"]:
        for place in _PLACEHOLDER.findall(entry):
            if place not in values:
                raise _Bad(
                    "bad-docstring",
                    f"`{{{place}}}` is no value of `{name}`",
                    line,
                    similar(place, values, "value"),
                )
    return LawDecl(
        name,
        arguments,
        doc,
        at,
        subjects,
        verdicts,
        _terms(sections.get("Reasons", []), declarations),
        _terms(sections.get("Obligations", []), declarations),
        values,
    )


def _terms(entries: Iterable[tuple[int, str]], declarations: Declarations) -> dict[str, TermDecl]:
    found: dict[str, TermDecl] = {}
    for line, entry in entries:
        match = _TERM.fullmatch(entry)
        if match is None:
            raise _Bad(
                "bad-docstring",
                f"`{entry}` is no term",
                line,
                "write `- name(Argument: sort): words`",
            )
        name, arguments, words = match.groups()
        if name in found:
            raise _Bad("bad-docstring", f"a second term `{name}`", line)
        declared = _arguments(arguments, declarations, line)
        for place in _PLACEHOLDER.findall(words or ""):
            if place not in dict(declared):
                raise _Bad(
                    "bad-docstring",
                    f"`{{{place}}}` is no argument of `{name}`",
                    line,
                    similar(place, dict(declared), "argument"),
                )
        found[name] = TermDecl(name, declared, words or "")
    return found


def signature_name(docstring: Docstring) -> str:
    """The name that a docstring is about, as far as it can be told."""
    match = re.match(r"\s*(\w+)", docstring.text)
    return match.group(1) if match else ""
