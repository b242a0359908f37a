"""``ullage verify``: checks proofs against the rules and facts, without the solver."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from ullage.cli.exit_code import ExitCode
from ullage.cli.output import renderer, say, write
from ullage.cli.parser import VerbParser
from ullage.findings import Finding, UsageError

SUMMARY = "checks proofs that `why --format json` printed, step by step"


def arguments(parser: VerbParser) -> None:
    """Add the proofs."""
    parser.add_argument(
        "proofs", nargs="+", type=Path, metavar="PROOF.json", help="a proof; - reads one from stdin"
    )


def run(args: Namespace) -> ExitCode:
    """Print what does not hold; nothing where every step of every proof does.

    Raises UsageError for a file that cannot be read and for ``--on``, PolicyError where the policy
    is invalid.
    """
    if args.on:
        raise UsageError(
            "`ullage verify` does not take `--on`", "a proof holds on one day as on another"
        )
    # Imported here: no other verb needs it.
    from ullage.reference.verify import read_proof, verifier

    texts = [read_proof(p) for p in args.proofs]
    check = verifier(args.rules, args.facts, override=args.override)
    findings: list[Finding] = []
    for name, text in texts:
        found, steps = check(text, name)
        findings += found
        if not found:
            say(f"{name}: {steps} steps hold")
    write(renderer(args.format, sys.stdout).findings(findings))
    return ExitCode.INVALID if findings else ExitCode.FINE
