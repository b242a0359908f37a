"""``ullage check``: validate declarations, facts and rules."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ullage.cli.exit_code import ExitCode
from ullage.cli.output import renderer, say, write
from ullage.cli.parser import VerbParser
from ullage.cli.reporting import write_report
from ullage.cli.run import weighed, with_policy
from ullage.findings import Finding, errors_of
from ullage.render import FORMATS, REPORT_FORMATS
from ullage.results import Standing

if TYPE_CHECKING:
    from ullage.policy import Policy

SUMMARY = "validates declarations, facts and rules; prints nothing but findings"

PRINTS = (*FORMATS, *REPORT_FORMATS)


def arguments(parser: VerbParser) -> None:
    """Takes the common flags alone."""


def run(args: Namespace) -> ExitCode:
    """Print every finding; an error makes the policy invalid, a warning does not.

    ``--fail-on`` weighs every standing of a valid policy. Raises UsageError.
    """

    def work(policy: Policy) -> tuple[Sequence[Finding], Sequence[Standing]]:
        findings = policy.check()
        weighed = args.fail_on and not errors_of(findings)
        return findings, policy.standings() if weighed else ()

    findings, standings = with_policy(args, work)
    code, lines = weighed(standings, args.fail_on)
    code = ExitCode.INVALID if errors_of(findings) else code
    if args.format in REPORT_FORMATS:
        from ullage.itemized import of_findings

        write_report(args, of_findings(findings), code)
    else:
        write(renderer(args.format, sys.stdout).findings(findings))
    for line in lines:
        say(line)
    return code
