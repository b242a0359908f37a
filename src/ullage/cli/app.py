"""Finds the verb, runs it, and turns whatever ends it into an exit status."""

from __future__ import annotations

import os
import sys
import traceback
from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import Protocol

from ullage import __version__
from ullage.cli import (
    check,
    diff,
    fmt,
    import_,
    log,
    plan,
    query,
    replay,
    schema,
    standings,
    test,
    verify,
    what_if,
    why,
    why_not,
)
from ullage.cli.exit_code import ExitCode
from ullage.cli.output import say, write
from ullage.cli.parser import FAIL_ON, VerbParser
from ullage.cli.reporting import write_invalid
from ullage.findings import PolicyError, UsageError, listed, similar
from ullage.render import FORMATS

DEBUG = "ULLAGE_DEBUG"
"""The environment variable that shows the traceback of an internal error."""


class Verb(Protocol):
    """A file of this package that is a verb. ``SUMMARY`` continues "the verb …".

    One that prints other formats than those of all verbs names them in ``PRINTS``, and one whose
    ``--fail-on`` takes other words has them in ``FAILS_ON``.
    """

    SUMMARY: str

    def arguments(self, parser: VerbParser) -> None:
        """Add what the verb takes beside the common flags."""
        ...

    def run(self, args: Namespace) -> ExitCode:
        """Do it. Raises UsageError and PolicyError."""
        ...


VERBS: Mapping[str, Verb] = {
    "check": check,
    "standings": standings,
    "plan": plan,
    "what-if": what_if,
    "diff": diff,
    "log": log,
    "query": query,
    "test": test,
    "why": why,
    "why-not": why_not,
    "verify": verify,
    "replay": replay,
    "import": import_,
    "fmt": fmt,
    "schema": schema,
}
"""The verbs by name, in the order of the help text."""

WITHOUT_POLICY = frozenset({"import", "fmt", "schema"})
"""The verbs that conclude nothing from a policy, and take no flag of those that do."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status, one of ExitCode."""
    try:
        return _run(sys.argv[1:] if argv is None else argv)
    except UsageError as error:
        say(f"error: {error.message}", error.help)
    except KeyboardInterrupt:
        say("interrupted")
    except SystemExit as end:
        # argparse ends a run this way only after it has printed help.
        return ExitCode.FINE if not end.code else ExitCode.COULD_NOT_RUN
    except Exception as error:
        if os.environ.get(DEBUG):
            traceback.print_exc()
        say(
            f"internal error: {type(error).__name__}: {error}".removesuffix(": "),
            "this is a defect of ullage, not of your policy; please report it with the command "
            f"and what it prints when {DEBUG}=1 is set",
        )
    return ExitCode.COULD_NOT_RUN


def _run(words: Sequence[str]) -> ExitCode:
    first = words[0] if words else ""
    if first in ("-h", "--help"):
        write(_help())
        return ExitCode.FINE
    if first == "--version":
        write(f"ullage {__version__}\n")
        return ExitCode.FINE
    if first not in VERBS:
        raise _no_verb(first)
    verb = VERBS[first]
    formats = getattr(verb, "PRINTS", tuple(FORMATS))
    parser = VerbParser(
        first,
        verb.SUMMARY,
        reads_policy=first not in WITHOUT_POLICY,
        formats=formats,
        fail_on=getattr(verb, "FAILS_ON", FAIL_ON),
    )
    verb.arguments(parser)
    args = parser.read(words[1:])
    try:
        return verb.run(args)
    except PolicyError as error:
        write_invalid(args, error.findings)
        return ExitCode.INVALID


def _no_verb(word: str) -> UsageError:
    verbs = f"verbs are {listed(list(VERBS))}; see `ullage --help`"
    if not word:
        return UsageError("no verb given", verbs)
    if word.startswith("-"):
        return UsageError(f"`{word}` stands where a verb should", verbs)
    return UsageError(f"no verb `{word}`", similar(word, VERBS, "verb") or verbs)


def _help() -> str:
    width = max(map(len, VERBS))
    verbs = "".join(f"  {name:<{width}}  {verb.SUMMARY}\n" for name, verb in VERBS.items())
    codes = "".join(f"  {code.value}  {code.sentence}\n" for code in ExitCode)
    return (
        "usage: ullage VERB [FLAG...]\n\n"
        "A rules engine over fact tables: what is established, refused or still unestablished,\n"
        "and why.\n\n"
        f"verbs:\n{verbs}\n"
        "flags:\n"
        "  --help     show this text; after a verb, that verb's own\n"
        "  --version  show the version\n\n"
        f"exit codes:\n{codes}"
    )
