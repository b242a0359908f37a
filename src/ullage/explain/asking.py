"""Asks a finished model for some of its atoms, by rules that are written once and run often.

A rule joins a predicate with what is known of its arguments, which the solver finds by an index. A
run takes the solver a few milliseconds however little it finds, and longer the more rules there
are: so a rule takes what is known as a parameter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from clingo.symbol import Number, String, Symbol

from ullage.solve import Model
from ullage.sorts import EntitySort, FormsSort, Sort, TextSort, TupleSort

Sorts = tuple[Sort | None, ...]
"""The sorts of a predicate's arguments; None for a fixed word."""

Signature = tuple[str, str, str]
"""A predicate, and for what every law concludes the law and the value's name."""

Thing = tuple[str, str]
"""The name of a sort of things or texts, and one of that sort."""


class Asking:
    """Runs rules over one model. What holds is given as a tuple of an atom's arguments."""

    def __init__(self, model: Model, signatures: Mapping[Signature, Sorts]) -> None:
        self.model = model
        self.signatures = signatures
        self.runs = 0
        # The parts that are written, each with how much of what it finds is read.
        self.read: dict[str, int] = {}
        self.parts: dict[tuple[str, tuple[str, ...]], str] = {}
        self.named: dict[str, list[str]] = {}

    def matching(
        self, name: str, arguments: tuple[str, ...], known: Sequence[Symbol]
    ) -> Iterator[Symbol]:
        """The atoms of a predicate with these arguments, of which ``K0``, ``K1``, … are known."""
        part = self.parts.get((name, arguments))
        if part is None:
            part = self.parts[name, arguments] = f"matching{len(self.parts)}"
            self._write(part, len(known), [(name, arguments)])
        for _, atom in self._run(part, [known]):
            yield atom

    def naming(self, sort: str, texts: Iterable[str]) -> Iterator[tuple[str, Symbol]]:
        """The atoms that name any of these things of one sort, each with its predicate."""
        part = f"naming_{sort}"
        if sort not in self.named:
            lookups = [
                (signature[0], arguments)
                for signature, sorts in self.signatures.items()
                for arguments in _naming(sorts, signature, sort)
            ]
            self.named[sort] = [name for name, _ in lookups]
            self._write(part, 1, lookups)
        for number, atom in self._run(part, [[String(text)] for text in texts]):
            yield self.named[sort][number], atom

    def _write(self, part: str, known: int, lookups: Iterable[tuple[str, tuple[str, ...]]]) -> None:
        parameters = ["run", *(f"k{i}" for i in range(known))]
        variables = "".join(f",K{i}" for i in range(known))
        lines = [f"_known'{part}({','.join(parameters)})."]
        for number, (name, arguments) in enumerate(lookups):
            terms = ",".join(arguments)
            body = f"_known'{part}(run{variables}), {name}({terms})"
            lines.append(f"_near'{part}(run,{number},({terms},)) :- {body}.")
        self.model.write(part, parameters, lines)
        self.read[part] = 0

    def _run(self, part: str, asked: Iterable[Sequence[Symbol]]) -> Iterator[tuple[int, Symbol]]:
        """What a part finds: the number of the rule, and the arguments of an atom."""
        self.runs += 1
        self.model.run(part, [[Number(self.runs), *known] for known in asked])
        for symbol in self.model.atoms(f"_near'{part}", 3, self.read[part]):
            self.read[part] += 1
            _, number, atom = symbol.arguments
            yield number.number, atom


def _naming(sorts: Sorts, signature: Signature, wanted: str) -> Iterator[tuple[str, ...]]:
    """Arguments of a predicate that name a thing ``K0``: once for each place of the wanted sort."""
    fixed = iter(word for word in signature[1:] if word)
    base = [next(fixed) if sort is None else f"X{i}" for i, sort in enumerate(sorts)]
    for place, sort in enumerate(sorts):
        if sort is not None:
            for text in _holding(sort, wanted, f"X{place}"):
                yield (*base[:place], text, *base[place + 1 :])


def _holding(sort: Sort, wanted: str, fresh: str) -> Iterator[str]:
    """Terms of a sort that hold a thing ``K0``; other parts are variables that begin with fresh."""
    match sort:
        case EntitySort() | TextSort():
            if sort.name == wanted:
                yield "K0"
        case TupleSort(items=items):
            yield from _inside("", items, wanted, fresh)
        case FormsSort(forms=forms):
            for name, arguments in forms.items():
                yield from _inside(name, [s for _, s in arguments], wanted, fresh)


def _inside(name: str, items: Sequence[Sort], wanted: str, fresh: str) -> Iterator[str]:
    for place, sort in enumerate(items):
        for text in _holding(sort, wanted, f"{fresh}_{place}"):
            parts = [text if i == place else f"{fresh}_{i}" for i in range(len(items))]
            yield f"{name}({','.join(parts)}{',' * (len(parts) == 1 and not name)})"
