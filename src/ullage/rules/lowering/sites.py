"""Expressions that a function evaluates, each as one relation over its variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from ullage.rules import arithmetic
from ullage.rules.inference import TypedRule
from ullage.rules.lowering.figures import Figure, Figures
from ullage.rules.lowering.levels import RuleLevels
from ullage.rules.lowering.program import Line, Lowered, Site, rule_text, tuple_text
from ullage.rules.lowering.scribe import Scribe, Surroundings
from ullage.rules.terms import Expr, Int, Op, Str, Var, names
from ullage.sorts import ExactSort

Evaluate = Callable[[Sequence[Fraction]], Fraction | None]


class Calls:
    """Writes the calls of one rule; their relations follow when the rule is whole."""

    def __init__(self, levels: RuleLevels, scribe: Scribe, program: Lowered) -> None:
        self.levels = levels
        self.typed = levels.typed
        self.scribe = scribe
        self.program = program
        self.pending: list[Callable[[], list[Line]]] = []
        self.found: dict[int, Site] = {}
        self.figures = Figures(levels, scribe, self.call)

    def begin(self) -> None:
        """Start the rule anew."""
        self.pending = []
        self.found = {}

    def finish(self) -> list[Line]:
        """The lines of all relations that the rule needs, and their sites in the program."""
        self.program.sites.update(self.found)
        return [line for make in self.pending for line in make()]

    def call(self, term: Op) -> Figure:
        """An expression as the last argument of its relation."""
        number = self.levels.numbering[id(term)]
        sort = self.typed.sort(term)
        arguments = tuple((n, self.typed.variables[n]) for n in sorted(names(term)))
        wanted = [n for n, _ in arguments]
        relation, result = f"_call'{number}", f"X''c{number}"
        figure = Figure(
            result, None, isinstance(sort, ExactSort) and number in self.levels.flags.fractions
        )
        texts = [self.figures.variable(n, s).text for n, s in arguments]
        atom = f"{relation}({','.join([*texts, result])})"
        if any(p.text == atom for p in self.scribe.scope):
            return figure
        site = Site(
            number,
            "call",
            self.typed.rule,
            arguments,
            sort,
            term.position,
            evaluator(term, wanted, self.typed, self.levels),
        )
        self.found[number] = site
        self.scribe.add(atom, (result,), wanted, atom=True, sites=(number,))
        around = self.scribe.surroundings()

        def lines() -> list[Line]:
            function = f"@call{number}({','.join(texts)})"
            called = f"{relation}({','.join([*texts, function])})"
            body = around.support(number, set(wanted))
            arity = len(texts) + 1
            found = [Line(rule_text(called, body), site.rule, number, relation, arity)]
            defined = f"{relation}({','.join([*texts, '_'])})"
            key = tuple_text(texts) if texts else "()"
            return found + self.undefined(site, key, defined, around, set(wanted))

        self.pending.append(lines)
        return figure

    def undefined(
        self, site: Site, key: str, defined: str, around: Surroundings, wanted: set[str]
    ) -> list[Line]:
        """Tell apart arguments without a value that the rest of the body admits.

        Written only for a site that had some: a value that other conditions keep out is no error.
        Of two such sites the one that stands first guards the other, and not the other way round,
        lest neither were told.
        """
        number = site.number
        if number not in self.levels.flags.undefined:
            return []
        relation = f"_undefined'{number}"
        self.program.undefined[relation] = site
        undefined = self.levels.flags.undefined
        awaited = {n for n in self.found if n < number or n not in undefined} - {number}
        body = [p.text for p in around.before(number, wanted, awaited)]
        return [
            Line(rule_text(f"_defined'{number}({key})", [defined]), site.rule),
            Line(
                rule_text(f"{relation}({key})", [*body, f"not _defined'{number}({key})"]), site.rule
            ),
        ]


def evaluator(
    term: Expr, arguments: Sequence[str], typed: TypedRule, levels: RuleLevels
) -> Evaluate:
    """The function that evaluates a term over the values of its variables, in order."""
    match term:
        case Var(name=name):
            index = list(arguments).index(name)
            return lambda values: values[index]
        case Int() | Str():
            constant = levels.literal(term)
            return lambda values: constant
        case Op(name=name, args=args):
            inner = [evaluator(a, arguments, typed, levels) for a in args]
            factor = arithmetic.factor(name, [typed.sort(a) for a in args], typed.sort(term))

            def evaluate(values: Sequence[Fraction]) -> Fraction | None:
                found = []
                for function in inner:
                    value = function(values)
                    if value is None:
                        return None
                    found.append(value)
                return arithmetic.evaluate(name, found, factor)

            return evaluate
    raise AssertionError(term)
