"""Aggregates in lowered text: counts and extrema natively, totals collected and added exactly."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ullage.rules.lowering.figures import Figure
from ullage.rules.lowering.program import Line, Site, rule_text, tuple_text
from ullage.rules.lowering.scribe import Piece
from ullage.rules.lowering.sites import Calls
from ullage.rules.numbers import FRACTION
from ullage.rules.terms import NEGATED, Aggregate, Element, Expr, Op, Var, global_names, names
from ullage.sorts import COUNT, ExactSort, Sort

if TYPE_CHECKING:
    from ullage.rules.lowering.writer import RuleWriter


class Aggregates:
    """Writes the aggregates of one rule."""

    def __init__(self, calls: Calls, writer: RuleWriter) -> None:
        self.calls = calls
        self.writer = writer
        self.levels = calls.levels
        self.scribe = calls.scribe
        self.figures = calls.figures
        self.rule = calls.typed.rule

    def write(self, literal: Aggregate) -> None:
        """Write an aggregate as a variable for its value, and a comparison for each guard."""
        number = self.levels.numbering[id(literal)]
        outside = set().union(*(names(e) for e in literal.elements)) & global_names(self.rule)
        name = self._taken_by(literal, outside) or f"X''a{number}"
        value = self.figures.variable(name, self._sort(literal))
        if self.levels.aggregate_level(literal) == FRACTION:
            value = Figure(value.text, value.limbs, True)
        if literal.function == "sum":
            self._total(literal, number, name, value, outside)
        elif literal.function != "count" and not any(e.conditions for e in literal.elements):
            self._given_extremum(literal, name, value)
        else:
            self._native(literal, number, name, value, outside)
        for op, guard in literal.guards:
            if not (op == "=" and isinstance(guard, Var) and guard.name == name):
                self._guard(literal, op, name, value, guard)

    def _sort(self, literal: Aggregate) -> Sort:
        if literal.function == "count":
            return COUNT
        sort = self.figures.sort(literal.elements[0].terms[0])
        assert sort is not None
        return sort

    def _site(self, literal: Aggregate, number: int, kind: str, outside: set[str]) -> Site:
        sorts = self.calls.typed.variables
        arguments = tuple((n, sorts[n]) for n in sorted(outside))
        return Site(number, kind, self.rule, arguments, self._sort(literal), literal.position)

    def _taken_by(self, literal: Aggregate, outside: set[str]) -> str | None:
        """The variable that takes the aggregate's value, where nothing else binds it."""
        if literal.sign:
            return None
        bound = self.levels.given | outside
        for op, guard in literal.guards:
            if op == "=" and isinstance(guard, Var) and guard.name not in bound:
                return guard.name
        return None

    def _guard(self, literal: Aggregate, op: str, name: str, value: Figure, guard: Expr) -> None:
        sort = self._sort(literal)
        fraction = value.fraction or self.levels.level(guard) == FRACTION
        left = self.figures.written(value, fraction)
        right = self.figures.in_shape(guard, sort, fraction)
        shown = NEGATED[op] if literal.sign == 1 else op
        sites = self.levels.sites(guard)
        self.scribe.add(f"{left} {shown} {right}", (), names(guard) | {name}, sites=sites)

    def _given_extremum(self, literal: Aggregate, name: str, value: Figure) -> None:
        """The larger or smaller of given figures: one of them that no other passes."""
        terms = [e.terms[0] for e in literal.elements]
        sort = self._sort(literal)
        texts = []
        for term in terms:
            figure = self.figures.figure(term, sort)
            text = self.figures.written(figure, value.fraction)
            if isinstance(term, Op) and figure.limbs is not None:
                own = self.scribe.temp()
                sites = self.levels.sites(term)
                self.scribe.add(f"{own} = {text}", (own,), names(term), sites=sites)
                text = own
            texts.append(text)
        op = ">=" if literal.function == "max" else "<="
        bounds = [f"{value.text} {op} {t}" for t in texts]
        needs = set().union(*(names(t) for t in terms))
        sites = set().union(*(self.levels.sites(t) for t in terms))
        text = "; ".join([f"{value.text} = ({';'.join(texts)})", *bounds])
        self.scribe.add(text, (name,), needs, sites=sites)

    def _native(
        self, literal: Aggregate, number: int, name: str, value: Figure, outside: set[str]
    ) -> None:
        elements = []
        fractions = self._fractions(literal)
        sites: set[int] = set()
        for element in literal.elements:
            pieces, terms = self._element(element, fractions)
            sites.update(*(p.sites for p in pieces))
            elements.append(f"{','.join(terms)} : {', '.join(p.text for p in pieces)}")
        text = f"#{literal.function} {{ {'; '.join(elements)} }}"
        self.scribe.add(f"{value.text} = {text}", (name,), outside, sites=sites)
        if literal.function == "count":
            return
        nothing = "#sup" if literal.function == "min" else "#inf"
        relation = f"_empty'{number}"
        self.calls.program.empty[relation] = self._site(literal, number, "extremum", outside)
        around = self.scribe.surroundings()

        def lines() -> list[Line]:
            body = [p.text for p in around.without(name) if not p.sites & sites]
            head = f"{relation}({self._key(outside)})"
            return [Line(rule_text(head, [*body, f"{nothing} = {text}"]), self.rule)]

        self.calls.pending.append(lines)

    def _fractions(self, literal: Aggregate) -> set[int]:
        """The places at which some element's figure has a fifth part, and all are to have one."""
        return {
            index
            for element in literal.elements
            for index, term in enumerate(element.terms)
            if self.levels.level(term) == FRACTION
        }

    def _element(self, element: Element, fractions: set[int]) -> tuple[list[Piece], list[str]]:
        """An element's lowered conditions and terms."""
        with self.scribe.inside() as pieces:
            for condition in element.conditions:
                self.writer.literal(condition)
            terms = []
            for index, term in enumerate(element.terms):
                if isinstance(self.figures.sort(term), ExactSort):
                    figure = self.figures.figure(term)
                    terms.append(self.figures.written(figure, index in fractions))
                else:
                    terms.append(self.writer.free(term))
        return pieces, terms

    def _key(self, variables: Iterable[str]) -> str:
        typed = self.calls.typed
        texts = [self.figures.variable(n, typed.variables[n]).text for n in sorted(variables)]
        return tuple_text(texts) if texts else "()"

    def _total(
        self, literal: Aggregate, number: int, name: str, value: Figure, outside: set[str]
    ) -> None:
        """A sum, collected element by element and added up exactly by a function.

        The total is taken in a rule that reads the collecting relation under a count, so that
        clingo has finished collecting before it asks.
        """
        site = self._site(literal, number, "sum", outside)
        self.calls.found[number] = site
        element, collected, total = f"_element'{number}", f"_collected'{number}", f"_sum'{number}"
        fractions = self._fractions(literal)
        parts = [self._element(e, fractions) for e in literal.elements]
        key = self._key(outside)
        sites = {number}.union(*(p.sites for pieces, _ in parts for p in pieces))
        self.scribe.add(f"{total}({key},{value.text})", (name,), outside, atom=True, sites=sites)
        around = self.scribe.surroundings()

        def lines() -> list[Line]:
            support = around.support(number, outside) if outside else []
            found = []
            for pieces, terms in parts:
                body = [p.text for p in pieces]
                if not outside <= set().union(*(p.binds for p in pieces if p.atom)):
                    body = [*support, *body]
                head = f"{element}({key},{tuple_text(terms)},{terms[0]})"
                found.append(Line(rule_text(head, body), self.rule))
            collect = f"@collect{number}(K,E,V) = 1"
            text = rule_text(f"{collected}(K)", [f"{element}(K,E,V)", collect])
            found.append(Line(text, self.rule, number))
            done = f"0 <= #count {{ G : {collected}(G) }}"
            # The group stands as a variable: clingo asks for a constant group's total at once.
            head = f"{total}(K,@sum{number}(K))"
            body = [*support, f"K = {key}", done]
            found.append(Line(rule_text(head, body), self.rule, number, total, 2))
            return found + self.calls.undefined(site, key, f"{total}({key},_)", around, outside)

        self.calls.pending.append(lines)
