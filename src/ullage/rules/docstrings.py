"""Declared predicates, laws and plans, read from the ``%*! … *%`` comments of rule files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ullage.declarations import Declarations
from ullage.findings import Finding, Position, listed, similar
from ullage.results import Bar, PlanLayout, StandingClass
from ullage.rules.declared import (
    Docstring,
    LawDecl,
    PlanDecl,
    Predicate,
    TermDecl,
    VerdictDecl,
    snake,
)
from ullage.sorts import CountSort, ExactSort, FormsSort, Sort, TupleSort

_SIGNATURE = re.compile(r"(_*[a-z][A-Za-z0-9_]*)\s*(?:\(\s*([^()]*?)\s*\))?")
_NAME = re.compile(r"_*[A-Z][A-Za-z0-9_]*")
_OF_LAWS = ("Verdicts", "Reasons", "Obligations")
_OF_PLANS = ("Plan", "Law", "Rows", "Columns", "Under", "Bar", "Note")
_SECTION_NAMES = ("Args", "Subjects", *_OF_LAWS, "Values", "Frontier", "Identity", *_OF_PLANS)
_SECTION = re.compile(rf"({'|'.join(_SECTION_NAMES)}):\s*(.*)")
_LIKE_SECTION = re.compile(r"([A-Z][a-z]+):.*")
_ARG = re.compile(r"-\s*(\w+)\s*:\s*(\([^()]*\)|\w+)\s*(.*)")
_VERDICT = re.compile(r"-\s*([a-z]\w*)\s*\[\s*(\w+)\s*\]\s*(?::\s*(.*))?")
_TERM = re.compile(r"-\s*([a-z]\w*)\s*(?:\(([^()]*)\))?\s*(?::\s*(.*))?")
_VALUE = re.compile(r"-\s*([a-z]\w*)\s*:\s*(\w+)\s*(?::\s*(.*))?")
_BAR = re.compile(r"(\w+(?:\s*,\s*\w+)*) of (\w+)")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


_Sections = Mapping[str, list[tuple[int, str]]]
"""The entries of each section, with their lines counted from the docstring's first."""


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


def parse(
    docstring: Docstring, declarations: Declarations
) -> tuple[Predicate | LawDecl | PlanDecl | None, list[Finding]]:
    """The predicate, law or plan that a docstring declares, and what is wrong with it."""
    lines = docstring.text.split("\n")
    at = docstring.position
    try:
        return _parse(lines, at, declarations), []
    except _Bad as bad:
        place = at if bad.line == 0 else Position(at.file, at.line + bad.line, 1)
        return None, [Finding(bad.code, bad.message, (place,), bad.help)]


def _parse(
    lines: list[str], at: Position, declarations: Declarations
) -> Predicate | LawDecl | PlanDecl:
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
    if "Plan" in sections:
        _none_of(name, sections, (*_OF_LAWS, "Frontier", "Identity"), "Plan")
        return _plan(name, arguments, doc, at, sections, declarations)
    if "Verdicts" in sections:
        _none_of(name, sections, (*_OF_PLANS, "Identity"), "Verdicts")
        return _law(name, arguments, doc, at, sections, declarations)
    for section in (*_OF_PLANS, "Subjects", *_OF_LAWS, "Values"):
        if section in sections:
            plan = section in _OF_PLANS
            raise _Bad(
                "bad-docstring",
                f"`{name}` has `{section}:` and no `{'Plan' if plan else 'Verdicts'}:`",
                0,
                "a plan says in `Plan:` what it tells" if plan else "a law declares its verdicts",
            )
    frontier = " ".join(text for _, text in sections.get("Frontier", []))
    if "Frontier" in sections and not frontier:
        raise _Bad(
            "bad-docstring", f"`{name}` is a frontier without a consumer", 0, "name who reads it"
        )
    return Predicate(name, arguments, doc, at, frontier, _identity(name, listed_args, sections))


def _identity(name: str, arguments: Sequence[str], sections: _Sections) -> tuple[str, ...]:
    """The arguments that ``Identity:`` names: some, and not all."""
    if "Identity" not in sections:
        return ()
    line = next((line for line, _ in sections["Identity"]), 0)
    text = ",".join(text for _, text in sections["Identity"])
    named = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    for argument in named:
        if argument not in arguments:
            raise _Bad(
                "bad-docstring",
                f"`{argument}` is no argument of `{name}`",
                line,
                similar(argument, arguments, "argument"),
            )
    if not named or len(named) == len(arguments):
        raise _Bad(
            "bad-docstring",
            f"`Identity:` of `{name}` names {'all' if named else 'none'} of its arguments",
            line,
            "name those that name the thing; the others are the whole fact of it",
        )
    return named


def _law(
    name: str,
    arguments: tuple[tuple[str, Sort], ...],
    doc: str,
    at: Position,
    sections: _Sections,
    declarations: Declarations,
) -> LawDecl:
    subjects = _subjects(f"law `{name}`", arguments, sections)
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
    values = {
        value: sort
        for value, (sort, _) in _values(
            sections, declarations, (ExactSort, CountSort), "exact figures or counts"
        ).items()
    }
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
        values,
        verdicts,
        _terms(sections.get("Reasons", []), declarations),
        _terms(sections.get("Obligations", []), declarations),
    )


def _plan(
    name: str,
    arguments: tuple[tuple[str, Sort], ...],
    doc: str,
    at: Position,
    sections: _Sections,
    declarations: Declarations,
) -> PlanDecl:
    subjects = _subjects(f"plan `{name}`", arguments, sections)
    values = _values(sections, declarations, (Sort,), "single values", (FormsSort, TupleSort))
    parts = _parts(arguments)
    rows = _word(sections, "Rows", {snake(p): p for p in parts}, "argument")
    names = {v: v for v in values}
    columns = []
    for line, entry in sections.get("Columns", []):
        for column in (c.strip() for c in entry.split(",")):
            columns.append(_known(column, names, "value", line))
    if bool(rows) != bool(columns):
        raise _Bad(
            "bad-docstring",
            f"the plan `{name}` has one of `Rows:` and `Columns:` alone",
            0,
            "a table needs the argument of its rows, and the values of its columns",
        )
    bar = None
    for line, entry in sections.get("Bar", []):
        match = _BAR.fullmatch(entry)
        if match is None:
            raise _Bad("bad-docstring", f"`{entry}` is no bar", line, "write `Bar: part of whole`")
        whole = _known(match.group(2), names, "value", line)
        shown = tuple(_known(p.strip(), names, "value", line) for p in match.group(1).split(","))
        for part in shown:
            if values[part][0] != values[whole][0] or not isinstance(values[part][0], ExactSort):
                raise _Bad(
                    "bad-docstring",
                    f"`{part}` is no part of `{whole}`",
                    line,
                    "a bar shows figures of one exact sort",
                )
        bar = Bar(shown, whole)
    title = " ".join(text for _, text in sections["Plan"])
    places = {p: snake(p) for p in parts} | {v: v for v in values}
    for place in _PLACEHOLDER.findall(title):
        _known(place, places, "argument or value", sections["Plan"][0][0])
    title = _PLACEHOLDER.sub(lambda m: f"{{{places[m.group(1)]}}}", title)
    if not title:
        raise _Bad("bad-docstring", f"the plan `{name}` does not say what it tells", 0,
                   "add words, as in `Plan: nodes of {Artifact}`")  # fmt: skip
    layout = PlanLayout(
        title,
        {v: words for v, (_, words) in values.items()},
        rows,
        tuple(columns),
        "".join(text for _, text in sections.get("Under", [])),
        bar,
        " ".join(text for _, text in sections.get("Note", [])),
    )
    law = "".join(text for _, text in sections.get("Law", []))
    sorts = {v: sort for v, (sort, _) in values.items()}
    return PlanDecl(name, arguments, doc, at, subjects, sorts, layout, law)


def _subjects(
    what: str,
    arguments: tuple[tuple[str, Sort], ...],
    sections: _Sections,
) -> str:
    """The body that collects the subjects of a law or plan."""
    if not arguments:
        raise _Bad(
            "bad-docstring",
            f"the {what} has no subject",
            0,
            f"a {what.split()[0]} has at least one argument",
        )
    subjects = " ".join(text for _, text in sections.get("Subjects", []))
    if not subjects:
        raise _Bad(
            "bad-docstring",
            f"the {what} does not say its subjects",
            0,
            "add `Subjects: host(Host)`",
        )
    _parts(arguments)
    return subjects


def _parts(arguments: tuple[tuple[str, Sort], ...]) -> tuple[str, ...]:
    """The names of a subject's parts: those of the arguments, or of the forms of the only one."""
    sort = arguments[0][1]
    if len(arguments) > 1 or not isinstance(sort, FormsSort):
        return tuple(n for n, _ in arguments)
    shapes = [tuple(n for n, _ in form) for form in sort.forms.values()]
    if len(set(shapes)) < len(shapes) or () in shapes:
        raise _Bad(
            "bad-docstring",
            f"two forms of `{sort.name}` have the same arguments, or one has none",
            0,
            "a subject is shown by its form's arguments, which must tell the forms apart",
        )
    return tuple(dict.fromkeys(n for shape in shapes for n in shape))


def _values(
    sections: _Sections,
    declarations: Declarations,
    kinds: tuple[type[Sort], ...],
    what: str,
    but: tuple[type[Sort], ...] = (),
) -> dict[str, tuple[Sort, str]]:
    """The declared values: their sorts, which must be of the kinds, and their words."""
    found: dict[str, tuple[Sort, str]] = {}
    for line, entry in sections.get("Values", []):
        match = _VALUE.fullmatch(entry)
        if match is None:
            raise _Bad("bad-docstring", f"`{entry}` is no value", line, "write `- headroom: bytes`")
        name, sort_name, words = match.groups()
        if name in found:
            raise _Bad("bad-docstring", f"a second value `{name}`", line, "keep one")
        sort = _sort(sort_name, declarations, line)
        if not isinstance(sort, kinds) or isinstance(sort, but):
            raise _Bad(
                "bad-docstring",
                f"a value may not be of sort `{sort.name}`",
                line,
                f"values are {what}",
            )
        found[name] = (sort, words or "")
    return found


def _word(sections: _Sections, section: str, known: Mapping[str, str], what: str) -> str:
    """The one word of a section, or nothing where the section is not there."""
    entries = sections.get(section, [])
    if not entries:
        return ""
    line, entry = entries[0]
    return _known(snake(entry.strip()), known, what, line)


def _known(word: str, known: Mapping[str, str], what: str, line: int) -> str:
    if word not in known:
        raise _Bad(
            "bad-docstring",
            f"`{word}` is no {what} of this docstring",
            line,
            similar(word, known, what) or f"it has {listed(list(known))}",
        )
    return word


def _none_of(name: str, sections: _Sections, others: Iterable[str], have: str) -> None:
    for section in others:
        if section in sections:
            raise _Bad(
                "bad-docstring",
                f"`{name}` has `{have}:` and `{section}:`",
                0,
                "a law has verdicts, a plan has none; declare the two apart",
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
