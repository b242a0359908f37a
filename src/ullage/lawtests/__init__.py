"""Law tests as data: given rows, expected standings and plans, and what differs, cell by cell.

``reading`` reads files into ``cases``; ``alone`` judges one case as a policy of its own, ``batch``
many by one grounding, with the same results; ``running`` runs files and folders. ``mutants`` makes
faulty rules, ``mutation`` finds which of them cases notice, and ``mutating`` holds them against the
list of ``equivalents``.
"""

from ullage.lawtests.alone import run_case
from ullage.lawtests.cases import SOURCE, CaseFile, Expectation, LawCase
from ullage.lawtests.reading import load_cases
from ullage.lawtests.rows import edited_rows
from ullage.testreport import CaseResult, Mismatch, Outcome, TestReport

__all__ = [
    "SOURCE",
    "CaseFile",
    "CaseResult",
    "Expectation",
    "LawCase",
    "Mismatch",
    "Outcome",
    "TestReport",
    "edited_rows",
    "load_cases",
    "run_case",
]
