"""Questions as people write them, read by the sorts of what they name.

weight_offload_split gh200-glm52-marlin            a standing, with all that is said beside it
weight_offload_split gh200-glm52-marlin refused    one verdict, reason, obligation or value
weight_offload_split(gh200-glm52-marlin, refused)  the same
usable(dgx-1, _)                                   any atom; ``_`` and ``Name`` leave a part open
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ullage.declarations import Table
from ullage.explain.store import Known
from ullage.findings import UsageError, listed, similar
from ullage.reference.text import value_text
from ullage.reference.values import Form, Pattern, Value, Word, of_scalar
from ullage.results import StandingClass
from ullage.rules.book import RuleBook
from ullage.rules.declared import LawDecl, PlanDecl
from ullage.sorts import (
    COUNT,
    EntitySort,
    ExactSort,
    FormsSort,
    ScalarError,
    Sort,
    TupleSort,
    parse_scalar,
)

_CALL = re.compile(r"\s*(_*[a-z][A-Za-z0-9_]*)\s*(?:\((.*)\))?\s*\.?\s*", re.DOTALL)
_PIECE = re.compile(r'"(?:[^"\\]|\\.)*"|.', re.DOTALL)
_MOST_NAMED = 12
_OPEN = re.compile(r"_|_*[A-Z][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: patterns of atoms. ``about`` is the standing or plan asked about, if any.

    ``words`` is the question as it was put.
    """

    words: str
    asked: tuple[tuple[str, tuple[Pattern, ...]], ...]
    about: tuple[str, Value] | None = None


class Reader:
    """Reads questions about one policy. Raises UsageError with the nearest names."""

    def __init__(self, book: RuleBook, known: Known) -> None:
        self.book = book
        self.known = known
        self.tables = known.base.declarations.tables

    def read(self, words: Sequence[str], *, negated: bool = False) -> Question:
        """The question of some words: an atom, or a law or plan with a subject and what of it.

        Where it is ``negated``, a law and subject alone ask for each established verdict.
        """
        if not words:
            raise UsageError("nothing is asked", "name an atom, or a law and a subject")
        shown = " ".join(words)
        match = _CALL.fullmatch(words[0])
        if match is None:
            raise UsageError(
                f"`{words[0]}` is no atom", "write `name(Argument, …)`, or a law and a subject"
            )
        name, inside = match.groups()
        # What is both a table and a plan is the table's row where it has arguments.
        owner = None if inside is not None and name in self.tables else self._owner(name)
        if len(words) == 1 and inside is not None and owner is None:
            return self._atom(shown, name, split(inside))
        if owner is None and inside is None and name in self._predicates() and len(words) == 1:
            return self._atom(shown, name, ["_"] * self._width(name))
        if owner is None and name in self._predicates() and len(words) > 1:
            raise UsageError(
                f"`{words[1]}` is one word more than a question has",
                f"`{name}` is neither a law nor a plan: write `{name}(…)` in one word",
            )
        if owner is None:
            raise self._unknown(name)
        parts = [*(split(inside) if inside is not None else []), *words[1:]]
        return self._about(shown, owner, parts, negated)

    # Laws and plans.

    def _owner(self, name: str) -> LawDecl | PlanDecl | None:
        return self.book.laws.get(name) or self.book.plans.get(name)

    def _about(
        self, shown: str, owner: LawDecl | PlanDecl, parts: Sequence[str], negated: bool
    ) -> Question:
        kind = "law" if isinstance(owner, LawDecl) else "plan"
        width = len(owner.arguments)
        if not parts:
            raise UsageError(
                f"the {kind} `{owner.name}` is named without a subject",
                f"write `{owner.name} {'/'.join(a.upper() for a, _ in owner.arguments)}`",
            )
        # A subject of several parts is written `a/b`, `(a, b)` or as so many arguments.
        subject, behind = self._subject(owner, parts)
        rest = [word.strip() for word in behind]
        if len(rest) > 1:
            raise UsageError(
                f"`{rest[1]}` is one word more than a question has",
                f"`{owner.name}` has a subject of {width} part{'s' * (width > 1)}, then one word",
            )
        about = (owner.name, subject)
        if isinstance(owner, PlanDecl):
            names = [self._value_name(owner, rest[0])] if rest else list(owner.values)
            asked = [("plan", (Word(owner.name), subject, Word(n), None)) for n in names]
            return Question(shown, tuple(asked), about)
        if rest:
            return Question(shown, (self._said(owner, subject, rest[0]),), about)
        if negated:
            wanted = [
                v.name for v in owner.verdicts.values() if v.standing is StandingClass.ESTABLISHED
            ]
            verdicts = [("standing", (Word(owner.name), subject, Word(v))) for v in wanted]
            return Question(shown, tuple(verdicts), about)
        every: list[tuple[str, tuple[Pattern, ...]]] = [
            (kind, (Word(owner.name), subject, None))
            for kind in ("standing", "reason", "obligation")
        ]
        return Question(shown, tuple(every), about)

    def _value_name(self, owner: LawDecl | PlanDecl, word: str) -> str:
        if word not in owner.values:
            raise UsageError(
                f"`{owner.name}` declares no value `{word}`",
                similar(word, owner.values, "value")
                or f"values are {listed(list(owner.values)) or 'none'}",
            )
        return word

    def _said(self, law: LawDecl, subject: Pattern, word: str) -> tuple[str, tuple[Pattern, ...]]:
        """The verdict, reason, obligation or value that a word names."""
        match = _CALL.fullmatch(word)
        name, inside = match.groups() if match else (word, None)
        own: Pattern = subject
        if name in law.verdicts and inside is None:
            return "standing", (Word(law.name), own, Word(name))
        for kind, terms in (("reason", law.reasons), ("obligation", law.obligations)):
            if name in terms:
                sorts = [s for _, s in terms[name].arguments]
                if not sorts:
                    return kind, (Word(law.name), own, Word(name))
                texts = split(inside) if inside else ["_"] * len(sorts)
                args = self._arguments(name, texts, sorts)
                return kind, (Word(law.name), own, _form(name, args))
        if name in law.values and inside is None:
            return "value", (Word(law.name), own, Word(name), None)
        known = [*law.verdicts, *law.reasons, *law.obligations, *law.values]
        raise UsageError(
            f"`{law.name}` has no verdict, reason, obligation or value `{name}`",
            similar(name, known, "word") or f"it has {listed(known)}",
        )

    def _subject(self, owner: LawDecl | PlanDecl, parts: Sequence[str]) -> tuple[Value, list[str]]:
        """The subject that some words name, and the words behind it. Raises UsageError."""
        subjects = {self._subject_text(a): a for a in self._subjects(owner)}
        width = len(owner.arguments)
        first = parts[0].strip()
        inner = split(first[1:-1]) if first.startswith("(") and first.endswith(")") else [first]
        for taken, texts in ((1, inner), (width, list(parts[:width]))):
            text = "/".join(_bare(t) for t in texts)
            if text in subjects:
                found = subjects[text]
                return (found[0] if width == 1 else found), list(parts[taken:])
        near = [s for s in subjects if _bare(first) in s.split("/")]
        raise UsageError(
            f"`{owner.name}` has no subject `{_bare(first)}`",
            (f"subjects with it are {_some(near)}" if near else "")
            or similar(_bare(first), subjects, "subject")
            or (f"subjects are {_some(subjects)}" if subjects else "it has none"),
        )

    def _subjects(self, owner: LawDecl | PlanDecl) -> Iterable[tuple[Value, ...]]:
        return self.known.matching(owner.collects, [None] * len(owner.arguments))

    def _subject_text(self, arguments: tuple[Value, ...]) -> str:
        """A subject as ``--subject`` takes it."""
        parts: list[str] = []
        for value in arguments:
            inner = value.args if isinstance(value, Form) else (value,)
            parts += [_shown(v) for v in inner]
        return "/".join(parts)

    # Other atoms.

    def _predicates(self) -> list[str]:
        derived = {n for n, _, _ in self.known.signatures if "'" not in n}
        return [*self.tables, *derived, *self.book.laws, *self.book.plans]

    def _unknown(self, name: str) -> UsageError:
        return UsageError(
            f"no law, plan, table or predicate is named `{name}`",
            similar(name, self._predicates(), "name") or "`ullage check --help` tells of rules",
        )

    def _width(self, name: str) -> int:
        if name in self.tables:
            return 1
        return len(next(s for (n, _, _), s in self.known.signatures.items() if n == name))

    def _atom(self, shown: str, name: str, texts: Sequence[str]) -> Question:
        if name in self.tables:
            patterns = self._of_table(self.tables[name], texts)
        else:
            patterns = self._of_predicate(name, texts)
        return Question(shown, ((name, patterns),))

    def _of_table(self, table: Table, texts: Sequence[str]) -> tuple[Pattern, ...]:
        if len(texts) not in (1, 3):
            raise UsageError(
                f"`{table.name}` takes one argument for a row, or three for a row's column",
                f"write `{table.name}(Key)` or `{table.name}(Key, column, Value)`",
            )
        key = self._value(texts[0], table.key_sort)
        if len(texts) == 1:
            return (key,)
        column = table.columns.get(texts[1].strip())
        if column is None:
            raise UsageError(
                f"table `{table.name}` has no column `{texts[1].strip()}`",
                similar(texts[1].strip(), table.columns, "column")
                or f"columns are {_some(table.columns)}",
            )
        sort: Sort = TupleSort.of(COUNT, column.sort) if column.many else column.sort
        return (key, Word(column.name), self._value(texts[2], sort))

    def _of_predicate(self, name: str, texts: Sequence[str]) -> tuple[Pattern, ...]:
        found = [(s, sorts) for s, sorts in self.known.signatures.items() if s[0] == name]
        if not found:
            raise self._unknown(name)
        (_, owner, _), sorts = found[0]
        if owner:
            fitting = [
                (s, sorts)
                for s, sorts in found
                if texts and s[1] == texts[0].strip()
                and (not s[2] or (len(texts) > 2 and s[2] == texts[2].strip()))
            ]  # fmt: skip
            if not fitting:
                raise self._no_rule(name, [t.strip() for t in texts])
            _, sorts = fitting[0]
        return tuple(self._arguments(name, texts, sorts))

    def _no_rule(self, name: str, texts: Sequence[str]) -> UsageError:
        """That nothing of a law or plan is concluded so: which of its words is none."""
        kind = "plan" if name == "plan" else "law"
        owners = sorted({s[1] for s in self.known.signatures if s[0] == name})
        said = f"no rule derives `{name}({', '.join(texts)})`"
        if not texts or texts[0] not in owners:
            own = texts[0] if texts else ""
            return UsageError(said, similar(own, owners, kind) or f"{kind}s are {listed(owners)}")
        words = sorted({s[2] for s in self.known.signatures if s[:2] == (name, texts[0])})
        word = texts[2] if len(texts) > 2 else ""
        return UsageError(said, similar(word, words, "value") or f"values are {listed(words)}")

    def _alone(self, texts: Sequence[str], patterns: Sequence[Pattern]) -> None:
        """Refuse a variable that stands for two parts left open. Raises UsageError."""
        open_ones = [t.strip() for t, p in zip(texts, patterns, strict=True) if p is None]
        twice = [t for t, times in Counter(open_ones).items() if times > 1 and t != "_"]
        if twice:
            raise UsageError(
                f"`{twice[0]}` stands twice, and a question joins nothing",
                "leave both open as `_`, or ask `ullage query` for those that are equal",
            )

    def _arguments(
        self, name: str, texts: Sequence[str], sorts: Sequence[Sort | None]
    ) -> list[Pattern]:
        if len(texts) != len(sorts):
            named = ", ".join(s.name if s is not None else "word" for s in sorts)
            raise UsageError(
                f"`{name}` takes {len(sorts)} argument{'s' * (len(sorts) != 1)}, not {len(texts)}",
                f"they are ({named})",
            )
        patterns = [self._value(t, s) for t, s in zip(texts, sorts, strict=True)]
        self._alone(texts, patterns)
        return patterns

    def _value(self, text: str, sort: Sort | None) -> Pattern:
        """A value of a sort; None for a part left open."""
        text = text.strip()
        if sort is None:
            return Word(text)
        if _OPEN.fullmatch(text) and not (isinstance(sort, EntitySort) and self._named(text, sort)):
            return None
        match sort:
            case TupleSort(items=items):
                bare = text[1:-1] if text.startswith("(") and text.endswith(")") else None
                texts = split(bare) if bare is not None else text.split("/")
                if len(texts) != len(items):
                    raise UsageError(
                        f"`{text}` has {len(texts)} parts, and `{sort.name}` has {len(items)}",
                        f"write `({', '.join(s.name for s in items)})`",
                    )
                parts = [self._value(t, s) for t, s in zip(texts, items, strict=True)]
                self._alone(texts, parts)
                return tuple(parts)
            case FormsSort(forms=forms):
                match = _CALL.fullmatch(text)
                name, inside = match.groups() if match else (text, None)
                if name not in forms:
                    raise UsageError(
                        f"`{text}` is no term of `{sort.name}`",
                        similar(name, forms, "term") or f"terms are {listed(list(forms))}",
                    )
                sorts = [s for _, s in forms[name]]
                if not sorts:
                    return Word(name)
                return _form(name, self._arguments(name, split(inside or ""), sorts))
        return self._scalar(_bare(text), sort)

    def _scalar(self, text: str, sort: Sort) -> Value:
        try:
            value = of_scalar(parse_scalar(text, sort), sort)
        except ScalarError as error:
            base = re.fullmatch(r"(-?[0-9./]+) ([a-z_]+)", text)
            if base and isinstance(sort, ExactSort) and base.group(2) == sort.name:
                return self._base(base.group(1), sort)
            raise UsageError(error.message, error.help) from error
        if isinstance(sort, EntitySort) and not self._named(text, sort):
            names = self._names(sort)
            raise UsageError(
                f"no {sort.name} is named `{text}`",
                similar(text, names, sort.name) or (f"names are {_some(names)}" if names else ""),
            )
        return value

    def _base(self, text: str, sort: ExactSort) -> Value:
        """A figure in base units, as exact texts tell it."""
        unit = next((u for u, size in sort.units.items() if size == 1), "")
        return of_scalar(parse_scalar(f"{text} {unit}".strip(), sort), sort)

    def _names(self, sort: EntitySort) -> set[str]:
        found: set[str] = set()
        for table in self.tables.values():
            for place, column in enumerate(table.key):
                if column.sort == sort:
                    found |= {str(r.key[place]) for r in self.known.rows(table.name).all}
        return found

    def _named(self, text: str, sort: EntitySort) -> bool:
        names = self._names(sort)
        return not names or text in names


def _some(names: Iterable[str]) -> str:
    """The first names in order, and how many more there are."""
    every = sorted(names)
    more = f" and {len(every) - _MOST_NAMED} more" if len(every) > _MOST_NAMED else ""
    return f"{listed(every[:_MOST_NAMED])}{more}"


def _form(name: str, args: Sequence[Pattern]) -> Pattern:
    return Form(name, tuple(args))  # type: ignore[arg-type]


def _shown(value: Value) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return f"({', '.join(map(_shown, value))})"
    return value_text(value)


def _bare(text: str) -> str:
    """A text without the quotes around it."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    return text


def split(text: str) -> list[str]:
    """Arguments apart, at the commas outside quotes and parentheses."""
    parts: list[str] = [""]
    depth = 0
    for token in _PIECE.findall(text):
        if token == "," and depth == 0:
            parts.append("")
            continue
        depth += (token in "([") - (token in ")]")
        parts[-1] += token
    return [p for p in parts if p.strip()] if text.strip() else []
