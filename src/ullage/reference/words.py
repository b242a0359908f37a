"""Values, facts and conclusions in words that people read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ullage.declarations import Declarations, Table
from ullage.reference.bodies import Bindings
from ullage.reference.text import literal_text, term_text
from ullage.reference.values import Atom, Figure, Form, Value, Word
from ullage.results import Quantity, exact_text_of
from ullage.rules import terms
from ullage.rules.declared import Predicate, snake
from ullage.rules.terms import (
    NEGATED,
    Aggregate,
    Comparison,
    Conditional,
    Expr,
    Fun,
    Literal,
    Pool,
    Rule,
    Span,
    Tup,
    Var,
    names,
)
from ullage.sorts import COUNT, Sort, display


class Words:
    """Tells what holds in words, by the sorts, tables and docstrings of a policy."""

    def __init__(self, declarations: Declarations, predicates: Mapping[str, Predicate]) -> None:
        self.declarations = declarations
        self.predicates = predicates

    def value(self, value: Value) -> str:
        """A value as people read it; figures rounded, with a unit."""
        match value:
            case str():
                return value
            case Word(name=name):
                return name
            case Figure(value=number, unit=unit):
                return display(number, self._sort(unit))
            case Form(name=name, args=args):
                return f"{name}({', '.join(map(self.value, args))})"
        return ", ".join(map(self.value, value))

    def _sort(self, unit: str) -> Sort:
        return self.declarations.sorts.get(unit, COUNT)

    def label(self, rule: Rule, bindings: Bindings) -> str:
        """What a rule concludes: its label with the values in its places, else its head."""
        if rule.label is None:
            return self.claim(rule.head, bindings)
        first, *rest = rule.label.text.split("%")
        told = (self.value(bindings[n]) if n in bindings else "?" for n in rule.label.args)
        return first + "".join(value + text for value, text in zip(told, rest, strict=True))

    def fact(self, atom: Atom) -> str:
        """What a row, or a cell of it, says."""
        name, arguments = atom
        row = self._row(self.declarations.tables[name], arguments[0])
        if len(arguments) == 1:
            return f"there is a row {row}"
        _, column, value = arguments
        assert isinstance(column, Word)
        if isinstance(value, tuple):
            place, own = value
            return f"{row}: {column.name} {self.value(place)} is {self.value(own)}"
        return f"{row}: {column.name} is {self.value(value)}"

    def _row(self, table: Table, key: Value) -> str:
        if len(table.key) == 1:
            return f"{table.name} {self.value(key)}"
        assert isinstance(key, tuple)
        return f"{table.name} {' / '.join(map(self.value, key))}"

    def absence(self, literal: terms.Atom, bindings: Bindings) -> str:
        """What is not the case, where a negated atom holds."""
        return self._row_or_claim(literal, bindings, so=False)

    def presence(self, literal: terms.Atom, bindings: Bindings) -> str:
        """What is the case, where an atom holds."""
        return self._row_or_claim(literal, bindings, so=True)

    def _row_or_claim(self, literal: terms.Atom, bindings: Bindings, *, so: bool) -> str:
        if literal.name in self.declarations.tables:
            return self._of_table(literal, bindings, so=so)
        claim = self.claim(literal, bindings)
        if so and claim.startswith("it is "):
            return claim
        return f"{'so' if so else 'not so'}: {claim}"

    def claim(self, literal: terms.Atom, bindings: Bindings) -> str:
        """What an atom that rules conclude says, whether or not it is so."""
        shown = [term_text(a, bindings, self.value) for a in literal.args]
        if literal.name in _SAID:
            # Of a reason or an obligation of which only the name is known, that alone is told.
            owner, subject, *rest = (re.sub(r"\((?:_, )*_\)$", "", s) for s in shown)
            what, some = _SAID[literal.name]
            told = ", ".join(t for t in rest if not _open(t))
            return f"{owner} of {subject.strip('()')} {f'{what} {told}' if told else some}"
        of = ", ".join(s for s in shown if not _open(s))
        predicate = self.predicates.get(literal.name)
        if predicate is None:
            return literal_text(literal, bindings, self.value)
        return _clause(predicate.doc) + (f" ({of})" if of else "")

    def _of_table(self, literal: terms.Atom, bindings: Bindings, *, so: bool) -> str:
        """A row, or a cell of one, that is there or is not."""
        key, *rest = literal.args
        whole_key = bindings.get(key.name) if isinstance(key, Var) else None
        if isinstance(whole_key, tuple):
            shown = [self.value(part) for part in whole_key]
        else:
            parts = key.args if isinstance(key, Tup) else (key,)
            shown = [term_text(p, bindings, self.value) for p in parts]
        known = [s for s in shown if not _open(s)]
        whole = len(known) == len(shown)
        of = " / ".join(known)
        row = f"{literal.name} {of}" if whole else f"{literal.name}{f' of {of}' if of else ''}"
        if not rest:
            return f"there is {'a row' if so and whole else 'some' if so else 'no'} {row}"
        column, value = rest
        assert isinstance(column, Fun)
        inside = value.args if isinstance(value, Tup) else (value,)
        told = [t for t in (term_text(v, bindings, self.value) for v in inside) if not _open(t)]
        if not whole:
            of_value = f" {', '.join(told)}" if told else ""
            return f"{'some' if so else 'no'} {row} has {column.name}{of_value}"
        if not told:
            return f"{row}: {column.name} is {'read' if so else 'unread'}"
        verb = "is" if value is inside[0] else "holds"
        return f"{row}: {column.name} {verb if so else _NOT[verb]} {', '.join(told)}"

    def wanted(self, literal: terms.Atom, bindings: Bindings) -> str:
        """The value that an atom of a table asks for."""
        return self.term(literal.args[-1], bindings)

    def term(self, term: Expr, bindings: Bindings) -> str:
        """A term with its values."""
        return term_text(term, bindings, self.value)

    def with_exact(self, figure: Figure) -> str:
        """A figure, and the exact one beside it where the first is rounded."""
        quantity = Quantity(figure.value, self._sort(figure.unit))
        if quantity.displayed_whole:
            return quantity.display
        return f"{quantity.display} ({exact_text_of(quantity)})"

    def literal(self, literal: Literal, bindings: Bindings) -> str:
        """An instance of any literal; an aggregate by its function alone.

        A variable that stands for nothing yet is told by its name.
        """
        shown = self._open_told(literal, bindings)
        match literal:
            case Aggregate():
                guards = " and ".join(f"{op} {self.term(t, shown)}" for op, t in literal.guards)
                return f"{'not ' * literal.sign}{GIVES[literal.function]} {guards}"
            case Conditional():
                given = " and ".join(self._condition(c, shown) for c in literal.conditions)
                return f"wherever {given}, {self._condition(literal.literal, shown)}"
            case Comparison():
                return self._compared(literal, shown)
        return literal_text(literal, shown, self.value)

    def _condition(self, literal: Literal, bindings: Bindings) -> str:
        if isinstance(literal, terms.Atom):
            told = self.absence if literal.sign == 1 else self.presence
            return told(literal, bindings).removeprefix("so: ")
        return self.literal(literal, bindings)

    def _compared(self, literal: Comparison, bindings: Bindings, *, so: bool = True) -> str:
        """What a comparison says where it holds, or is the case where it does not: one of words and
        names in words.
        """
        if literal.sign or len(literal.rest) != 1:
            return f"{'not ' * (not so)}{literal_text(literal, bindings, self.value)}"
        ((op, right),) = literal.rest
        sides = [literal.first, right]
        many = [t for t in sides if isinstance(t, Pool | Span)]
        if op == "=" and len(many) == 1:
            (one,) = (t for t in sides if t is not many[0])
            of = ", ".join(self.term(t, bindings) for t in _choices(many[0]))
            return f"{self._named(one, bindings)}, {'one' if so else 'none'} of {of}"
        if op in ("=", "!=") and all(_is_name(t, bindings) for t in sides):
            known, other = sides if isinstance(literal.first, Var) else reversed(sides)
            told = self._named(known, bindings)
            return told if (op == "=") == so else f"{told}, not {self.term(other, bindings)}"
        if not so:
            opposite = Comparison(literal.first, ((NEGATED[op], right),), literal.position)
            return literal_text(opposite, bindings, self.value)
        return literal_text(literal, bindings, self.value)

    def opposite(self, literal: Comparison, bindings: Bindings) -> str:
        """What is the case where a comparison does not hold."""
        return self._compared(literal, self._open_told(literal, bindings), so=False)

    def _open_told(self, literal: Literal, bindings: Bindings) -> Bindings:
        """The bindings, with each variable that stands for nothing yet standing for its name."""
        open_ones = {n: Word(n) for n in names(literal) - bindings.keys() if "'" not in n}
        return {**open_ones, **bindings}

    def _named(self, term: Expr, bindings: Bindings) -> str:
        """A term with the name of its variable."""
        shown = self.term(term, bindings)
        return f"{snake(term.name)} is {shown}" if isinstance(term, Var) else shown

    def comparison(self, literal: Comparison, bindings: Bindings, by: Figure | None) -> str:
        """A comparison with its figures, and by how much they differ."""
        told = self.literal(literal, bindings)
        if by is None or not by.value:
            return told
        ((left, op, right),) = literal.links()
        if self.term(left, bindings) == self.term(right, bindings):
            # Rounded they look alike.
            sides = [term_text(term, bindings, self.exact) for term in (left, right)]
            told = f" {op} ".join(sides)
        return f"{told}, by {self.with_exact(by)}"

    def exact(self, value: Value) -> str:
        """A value as people read it, a figure with the exact one beside it."""
        return self.with_exact(value) if isinstance(value, Figure) else self.value(value)


GIVES = {"sum": "the sum", "count": "the number", "min": "the least", "max": "the greatest"}
"""What each aggregate gives."""

_SAID = {
    "standing": ("is", "has a verdict"),
    "reason": ("has the reason", "has a reason"),
    "obligation": ("has the obligation", "has an obligation"),
    "value": ("has the value", "has a value"),
    "plan": ("tells", "tells something"),
}
"""What laws and plans conclude, behind "law of subject": with what is known of it, and without."""

_NOT = {"is": "is not", "holds": "does not hold"}


def _open(text: str) -> bool:
    """Whether a term's text tells nothing: all of it is open."""
    return not text.strip("_(), ")


def _choices(term: Pool | Span) -> Sequence[Expr]:
    """What a pool or an interval lets a term be."""
    return term.args if isinstance(term, Pool) else (term,)


def _is_name(term: Expr, bindings: Bindings) -> bool:
    """Whether a term is a name, a text or a word."""
    value = bindings.get(term.name) if isinstance(term, Var) else None
    return isinstance(value, str | Word) or (isinstance(term, Fun) and not term.args)


def _clause(doc: str) -> str:
    """The first sentence of a docstring, to go on with."""
    first = " ".join(doc.split("\n\n")[0].split()).split(". ")[0].rstrip(".:")
    word = first.split(" ", 1)[0]
    return first[:1].lower() + first[1:] if word[1:].islower() or len(word) == 1 else first
