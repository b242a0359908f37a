"""Checking proofs from files: what ``ullage verify`` does. No module here uses the solver."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from ullage.findings import Finding, UsageError
from ullage.folders import folders
from ullage.reference.check import Checker, parse
from ullage.reference.policy import load
from ullage.textfiles import decode, read_bytes, shown_path

Verify = Callable[[str, str], tuple[list[Finding], int]]
"""Checks a proof's text, naming its file: what does not hold, and how many steps it has."""


def verifier(
    rules: Sequence[Path | str] | Path | str | None = None,
    facts: Sequence[Path | str] | Path | str | None = None,
    *,
    override: bool = False,
) -> Verify:
    """What checks proofs over a policy, which is read once; folders are named as for ``load``.

    Raises UsageError where a folder is missing, PolicyError where the policy is invalid.
    """
    rule_folders, fact_folders = folders(rules, facts, False)
    checker = Checker(load(rule_folders, fact_folders, override=override))

    def check(text: str, name: str) -> tuple[list[Finding], int]:
        document, findings = parse(text, name)
        if not findings:
            findings = checker.check(document, name)
        steps = document.get("steps") if isinstance(document, dict) else None
        return findings, len(steps) if isinstance(steps, list) else 0

    return check


class Documented(Protocol):
    """What has a proof as a document."""

    def document(self) -> Mapping[str, object]:
        """The proof, as JSON has it."""
        ...


def verify(
    proof: Documented | Mapping[str, object] | str,
    rules: Sequence[Path | str] | Path | str | None = None,
    facts: Sequence[Path | str] | Path | str | None = None,
    *,
    override: bool = False,
) -> tuple[Finding, ...]:
    """What does not hold of a proof, its document or its JSON text; nothing where all of it does.

    It is held against the rules and facts on disk, by folders as for ``Policy.load``, and without
    the solver. Codes: ``json-syntax``, ``bad-proof``, ``proof-broken``. Raises UsageError where a
    folder is missing, PolicyError where the policy is invalid.
    """
    if not isinstance(proof, str):
        proof = json.dumps(proof if isinstance(proof, Mapping) else proof.document())
    findings, _ = verifier(rules, facts, override=override)(proof, "<proof>")
    return tuple(findings)


def read_proof(path: Path) -> tuple[str, str]:
    """The name and text of a file; ``-`` is stdin. Raises UsageError."""
    if str(path) == "-":
        name = "<stdin>"
        data: bytes | Finding = sys.stdin.buffer.read() if sys.stdin is not None else b""
    else:
        name = shown_path(path)
        data = read_bytes(path)
    text = data if isinstance(data, Finding) else decode(data, name)
    if isinstance(text, Finding):
        raise UsageError(text.message, text.help)
    return name, text
