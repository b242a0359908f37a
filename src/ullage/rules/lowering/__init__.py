"""Lowering: typed rules as plain clingo with exact arithmetic.

``levels`` settles how many decimals each figure may have, ``scribe`` collects literals, ``figures``
writes arithmetic over limbs, ``sites`` and ``aggregates`` what needs a function, ``writer`` a rule.
"""

from ullage.rules.lowering.program import (
    Flags,
    Levels,
    Line,
    Lowered,
    RangeCheck,
    Site,
    quoted,
)
from ullage.rules.lowering.writer import lower, settled, wary

__all__ = [
    "Flags",
    "Levels",
    "Line",
    "Lowered",
    "RangeCheck",
    "Site",
    "lower",
    "quoted",
    "settled",
    "wary",
]
