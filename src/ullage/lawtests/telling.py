"""Lines beside the rules of many cases: whose conclusions are amiss, and what is asked of each.

What a case asks of is read and compared in Python; that all else is sound is found in the solver,
by what ``ullage.standings`` and ``ullage.plans`` hold conclusions to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ullage.lawtests.cases import LawCase
from ullage.results import StandingClass
from ullage.rules.declared import BUILTIN, OF_LAWS, LawDecl, PlanDecl
from ullage.rules.lowering.program import rule_text, tuple_text
from ullage.symbols import PLACE

AMISS = "_amiss'"
"""The predicate of cases of which something is concluded that is a finding."""

_ASKS = "_asks'"


def told(name: str) -> str:
    """The predicate of what a case asks for of another."""
    return f"_told'{name}"


def asked(case: LawCase) -> set[str]:
    """The laws and plans that a case expects something of."""
    return {e.owner[1] for e in (*case.expect, *case.absent)}


def ask_lines(cases: Iterable[LawCase]) -> Iterator[str]:
    """Facts: of what each case asks, by its number."""
    for number, case in enumerate(cases):
        for name in sorted(asked(case)):
            yield f"{_ASKS}({number},{name})."


def telling_lines(
    owners: Iterable[LawDecl | PlanDecl], named: Callable[[str], str] = "{}(C,".format
) -> Iterator[str]:
    """Rules for the conclusions of laws and plans.

    ``named`` gives the beginning of a predicate's atoms, up to what follows its case ``C``.
    """
    for owner in owners:
        parts = [f"S{i}" for i in range(len(owner.arguments))]
        subject = parts[0] if len(parts) == 1 else tuple_text(parts)
        collects = f"{','.join(parts)})"
        is_subject = f"{named(owner.collects)}{collects}"
        asks = f"{_ASKS}(C,{owner.name})"
        yield rule_text(f"{told(owner.collects)}(C,{collects}", [is_subject, asks])
        for kind in ("plan",) if isinstance(owner, PlanDecl) else OF_LAWS:
            words = [f"W{i}" for i in range(2, BUILTIN[kind])]
            said = f"{owner.name},{subject},{','.join(words)})"
            atom = f"{named(kind)}{said}"
            yield rule_text(f"{told(kind)}(C,{said}", [atom, asks])
            yield _amiss(atom, f"not {is_subject}")
            if kind in ("standing", "value", "plan"):
                other = f"{atom[: -len(words[-1]) - 1]}Other)"
                yield _amiss(atom, other, f"{words[-1]} < Other")
        if isinstance(owner, LawDecl):
            yield from _verdicts(owner, subject, is_subject, named)


def _verdicts(
    law: LawDecl, subject: str, is_subject: str, named: Callable[[str], str]
) -> Iterator[str]:
    """Who has no verdict, and whose verdict lacks what it needs."""
    of = f"{law.name},{subject}"
    standing, reason, obligation, known = map(named, OF_LAWS)
    yield _amiss(is_subject, f"not {standing}{of},_)")
    for verdict in law.verdicts.values():
        said = f"{standing}{of},{verdict.name})"
        if verdict.standing is StandingClass.REFUSED:
            yield _amiss(said, f"not {reason}{of},_)")
        if verdict.standing is StandingClass.UNESTABLISHED:
            yield _amiss(said, f"not {obligation}{of},_)")
        for value in PLACE.findall(verdict.words):
            yield _amiss(said, f"not {known}{of},{value},_)")


def _amiss(*body: str) -> str:
    return rule_text(f"{AMISS}(C)", body)
