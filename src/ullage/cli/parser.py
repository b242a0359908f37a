"""Reading the words after a verb, with our own wording and exit status for what is wrong."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

from ullage.days import read_day
from ullage.findings import UsageError, listed, similar
from ullage.render import FORMATS
from ullage.results import StandingClass

FAIL_ON = {
    StandingClass.REFUSED.value: "exit with 2 where a standing is refused, and not waived",
    StandingClass.UNESTABLISHED.value: "with 4 where one is unestablished",
}
"""The words that ``--fail-on`` takes, and what each does."""


class VerbParser(argparse.ArgumentParser):
    """The parser of one verb. Raises UsageError, where argparse would print and exit with 2."""

    def __init__(
        self,
        verb: str,
        summary: str,
        *,
        reads_policy: bool = True,
        formats: Sequence[str] = tuple(FORMATS),
        fail_on: Mapping[str, str] = FAIL_ON,
    ) -> None:
        """A parser with the flags that all verbs share, or all verbs that read a policy.

        ``formats`` are those that the verb prints, the default first; ``fail_on`` the words that
        its ``--fail-on`` takes.
        """
        super().__init__(
            prog=f"ullage {verb}",
            description=f"{summary[0].upper()}{summary[1:]}.",
            allow_abbrev=False,
        )
        self.takes_policy_flags = False
        self._words: Sequence[str] = ()
        self.set_defaults(verb=verb, format=formats[0])
        self.add_argument(
            "--format",
            type=one_of("--format", formats),
            metavar="|".join(formats),
            help=f"what to print (default: {formats[0]})",
        )
        if reads_policy:
            self._add_policy(fail_on)

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """The values of the words after the verb. Raises UsageError.

        A verb that takes the policy's flags gets them unread, as ``policy_flags``: which there are
        is not known before the policy is loaded.
        """
        flags: dict[str, str | None] = {}
        self._words = words
        if self.takes_policy_flags:
            words, flags = self._apart(words)
            self.set_defaults(policy_flags=flags)
        args, unknown = self.parse_known_intermixed_args(words)
        options = [u.partition("=")[0] for u in unknown if u.startswith("-")]
        if options:
            known = [o for a in self._actions for o in a.option_strings if o.startswith("--")]
            raise UsageError(
                f"`{self.prog}` has no option `{options[0]}`",
                similar(options[0], known, "option") or self._see(),
            )
        if unknown:
            raise UsageError(f"`{self.prog}` does not take `{unknown[0]}`", self._see())
        return args

    def add_folders(self) -> None:
        """Add the flags that name the folders of a policy."""
        self.add_argument(
            "--rules",
            action="append",
            type=_folder,
            metavar="DIR",
            help="a folder of rules; repeatable (default: ./rules and ./facts where both exist, "
            "else the policy that comes with ullage)",
        )
        self.add_argument(
            "--facts",
            action="append",
            type=_folder,
            metavar="DIR",
            help="a folder of facts; likewise",
        )

    def _add_policy(self, fail_on: Mapping[str, str]) -> None:
        self.add_folders()
        self.add_argument(
            "--override",
            action="store_true",
            help="let a row of a later folder replace one of an equal key",
        )
        self.add_argument(
            "--on",
            action=Once,
            type=_day,
            metavar="DATE",
            help="the day that decides which waivers are in force, as 2027-03-01 (default: today, "
            "in UTC)",
        )
        self.add_argument(
            "--fail-on",
            action="append",
            type=one_of("--fail-on", fail_on),
            default=[],
            metavar="|".join(fail_on),
            help=f"{', '.join(fail_on.values())}; repeatable",
        )

    def _apart(self, words: Sequence[str]) -> tuple[list[str], dict[str, str | None]]:
        """The words without the options that are not the verb's own; and those, with values."""
        own: list[str] = []
        flags: dict[str, str | None] = {}
        rest = list(words)
        while rest:
            word = rest.pop(0)
            name, equals, value = word.partition("=")
            if word == "--":
                own += [word, *rest]
                break
            if not name.startswith("--") or name in self._option_string_actions:
                own.append(word)
                action = self._option_string_actions.get(name)
                if action is not None and action.nargs is None and not equals and rest:
                    own.append(rest.pop(0))
                continue
            if name.removeprefix("--") in flags:
                raise UsageError(f"`{name}` stands twice", "give it once")
            # Whether the policy has such a flag at all is the first thing to tell.
            told = equals or (rest and not rest[0].startswith("--"))
            given = None if not told else value if equals else rest.pop(0)
            flags[name.removeprefix("--")] = given
        return own, flags

    def format_help(self) -> str:
        """The help text, with the policy's own flags where the verb takes them."""
        text = super().format_help()
        if self.takes_policy_flags:
            text += "\n" + _policy_flags(self._words)
        return text

    def error(self, message: str) -> NoReturn:
        """Raise UsageError with argparse's own words."""
        raise UsageError(message, self._see())

    def _see(self) -> str:
        return f"see `{self.prog} --help`"


def _policy_flags(words: Sequence[str]) -> str:
    """The flags of the policy whose rules the words name, else of the default one."""
    # Imported here: no other help text needs the declarations.
    from ullage.flags import usage
    from ullage.folders import default_folders
    from ullage.tables import load_declarations

    pairs = pairwise(words)
    named = [Path(word) for option, word in pairs if option == "--rules"]
    named += [Path(w.partition("=")[2]) for w in words if w.startswith("--rules=")]
    declarations, _ = load_declarations(named or [default_folders()[0]])
    flags = usage(declarations.flags.values())
    return f"flags of the policy:\n{flags}" if flags else ""


def _folder(word: str) -> Path:
    """A folder's path. Raises UsageError for an empty name, which ``Path`` takes for ``.``."""
    if not word:
        raise UsageError("a folder's name is empty", "write `.` for the working folder")
    return Path(word)


def _day(word: str) -> date:
    """A day. Raises UsageError."""
    day = read_day(word)
    if day is None:
        raise UsageError(f"`--on` does not take `{word}`", "it takes a day, as `2027-03-01`")
    return day


def depth(word: str) -> int:
    """A number of levels. Raises UsageError."""
    if not word.isascii() or not word.isdigit() or not int(word[:9]) > 0 or len(word) > 9:
        raise UsageError(f"`--depth` does not take `{word}`", "it takes a whole number from 1")
    return int(word)


class Once(argparse.Action):
    """Takes an option that may stand once. Raises UsageError for a second."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        """Keep the value."""
        if getattr(namespace, self.dest) is not None:
            raise UsageError(f"`{option_string}` stands twice", "give it once")
        setattr(namespace, self.dest, values)


def one_of(option: str, known: Collection[str]) -> Callable[[str], str]:
    """A reader that takes the known words alone. It raises UsageError."""

    def read(word: str) -> str:
        if word not in known:
            help = similar(word, known, "word") or f"it takes {listed(list(known))}"
            if "," in word:
                help = f"write the option once for each: `{option} A {option} B`"
            raise UsageError(f"`{option}` does not take `{word}`", help)
        return word

    return read
