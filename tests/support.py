"""Small policies written to a folder, for tests of the engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from ullage.policy import Policy

Rows = Mapping[str, Sequence[Mapping[str, object]]]
Figures = dict[str, dict[str, Fraction]]
"""By subject, the figures of the law ``fig`` by name."""


def write_rules(folder: Path, tables: str, *laws: str) -> Path:
    """A rules folder of these tables and law files, as tables/0.yaml, 0.lp, 1.lp, ..."""
    rules = folder / "rules"
    (rules / "tables").mkdir(parents=True, exist_ok=True)
    (rules / "tables" / "0.yaml").write_text(tables, encoding="utf-8")
    for number, law in enumerate(laws):
        (rules / f"{number}.lp").write_text(law, encoding="utf-8")
    return rules


def load(folder: Path, tables: str, law: str, rows: Rows) -> Policy:
    """The policy of these tables, one law file and these rows."""
    return Policy.load(rules=[write_rules(folder, tables, law)], rows=rows)


def declared(name: str, **arguments: str) -> str:
    """The docstring of a predicate, which anybody may read."""
    lines = [f"%*! {name}({', '.join(arguments)})", "A predicate of a test.", "Args:"]
    lines += [f"  - {argument}: {sort}" for argument, sort in arguments.items()]
    return "\n".join([*lines, "Frontier: the test", "*%", ""])


FIG = """\
% Purpose  figures of a test
% Input    item/1
% Output   standing/3, value/4

%*! fig(Item)
Figures of an item.
Args:
  - Item: item
Subjects: item(Item)
Verdicts:
  - done [established]
VALUES*%
%!trace_rule {"% is done", I}.
standing(fig, I, done) :- item(I).
"""


def fig(rules: str, values: Mapping[str, str], predicates: Iterable[str] = ()) -> str:
    """A law ``fig`` over the table ``item`` with these values (by name, with sort) and rules."""
    listed = "".join(f"  - {name}: {sort}\n" for name, sort in values.items())
    head = FIG.replace("VALUES", f"Values:\n{listed}" if values else "")
    return "\n".join([head, *predicates, rules, ""])


def figures(policy: Policy) -> Figures:
    """What the law ``fig`` says of each item. Raises PolicyError."""
    return {
        s.subject_text: {name: quantity.value for name, quantity in s.values}
        for s in policy.standings(["fig"])
    }
