"""``ullage fmt``: facts, declarations, law tests and rules in their canonical form."""

from __future__ import annotations

import difflib
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ullage.cli.exit_code import ExitCode
from ullage.cli.output import renderer, say, write, write_program
from ullage.cli.parser import Once, VerbParser
from ullage.findings import Finding, UsageError, counted, errors_of
from ullage.textfiles import files_at, read_bytes, same_file, shown_path, write_whole

if TYPE_CHECKING:
    from ullage.formatting.files import Formatted
    from ullage.formatting.yamltext import Order

SUMMARY = "writes facts, declarations, law tests and rules in their canonical form"

STDIN = "-"
"""The path that stands for stdin and stdout."""


def arguments(parser: VerbParser) -> None:
    """Add the paths, and what to do instead of writing."""
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="a file, or a folder with all `.yaml`, `.yml` and `.lp` files below it; `-` reads "
        "stdin and writes stdout (default: the folders of rules and facts)",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; name the files that are not formatted, and exit with 3 "
        "where there are any",
    )
    parser.add_argument(
        "--diff", action="store_true", help="write nothing; print what would change"
    )
    parser.add_argument(
        "--stdin-name",
        action=Once,
        metavar="NAME",
        help="the name of what stdin holds: `.lp` at its end is for rules (default: stdin.yaml)",
    )
    parser.add_folders()


def run(args: Namespace) -> ExitCode:
    """Format the files; what is amiss with them is found, and they are left alone.

    Raises UsageError.
    """
    if args.stdin_name is not None and args.paths != [STDIN]:
        raise UsageError("`--stdin-name` is for `-`", "give `-` and no other path")
    if STDIN in args.paths:
        if args.paths != [STDIN]:
            raise UsageError("`-` stands beside other paths", "format stdin by itself")
        done, findings = [_of_stdin(args)], list[Finding]()
    else:
        done, findings = _of_files(args)
    changed = [one for one in done if one.changed]
    findings += [finding for one in done for finding in one.findings]
    if args.diff:
        write("".join(line for one in changed for line in _diff(one)))
    if args.check:
        findings += [one.unformatted() for one in changed]
    elif args.paths == [STDIN] and not args.diff:
        _write_stdin(done[0])
    elif not args.diff:
        for one in changed:
            assert one.after is not None
            write_whole(one.path, one.after)
        others = len(done) - len(changed)
        say(f"{counted(len(changed), 'file')} formatted, {others} left as they were")
    stream = sys.stdout if args.check and not args.diff else sys.stderr
    found = sorted(set(findings), key=lambda f: f.sort_key)
    if found or stream is sys.stdout:
        write(renderer(args.format, stream).findings(found), stream)
    return ExitCode.INVALID if errors_of(found) else ExitCode.FINE


def _of_stdin(args: Namespace) -> Formatted:
    """What stdin holds."""
    from ullage.formatting.files import formatted

    if sys.stdin is None:
        raise UsageError("cannot read stdin: it is closed")
    path = Path(args.stdin_name or "stdin.yaml")
    return formatted(sys.stdin.buffer.read(), path, _order(args))


def _of_files(args: Namespace) -> tuple[list[Formatted], list[Finding]]:
    """Every file that the paths name, and what could not be read on the way. None is written."""
    from ullage.formatting.files import ENDINGS, formatted
    from ullage.yamlnodes import collector_paused

    files: dict[Path, Path] = {}
    findings: list[Finding] = []
    for path in _paths(args):
        found, amiss = files_at(path, ENDINGS, "name one that is there")
        findings += amiss
        if found == [path] and not path.name.endswith(ENDINGS):
            raise UsageError(
                f"`{shown_path(path)}` is neither YAML nor rules",
                f"files end in {', '.join(f'`{e}`' for e in ENDINGS)}",
            )
        for file in found:
            # Two paths may lead to one file, which is written once.
            files.setdefault(same_file(file), file)
    order = _order(args)
    with collector_paused():
        return [formatted(read_bytes(file), file, order) for file in files.values()], findings


def _paths(args: Namespace) -> list[Path]:
    """The files and folders to format. The policy that comes with the package is never among them.

    Raises UsageError where there are none.
    """
    if "" in args.paths:
        raise UsageError("a path is empty", "write `.` for the working folder")
    if args.paths:
        return [Path(path) for path in args.paths]
    here = [Path(name) for name in ("rules", "facts") if Path(name).is_dir()]
    given = [*(args.rules or ()), *(args.facts or ())]
    if not given and not here:
        raise UsageError(
            "neither `rules` nor `facts` stands here", "name the files or folders to format"
        )
    return given or here


def _order(args: Namespace) -> Order:
    """The order of the columns of rows; none, with a word on it, where declarations are faulty."""
    from ullage.folders import folders
    from ullage.formatting.files import column_order
    from ullage.tables import load_declarations

    rules, _ = folders(args.rules, args.facts or (), rows=False)
    declarations, findings = load_declarations(rules)
    if errors_of(findings):
        say(
            "columns keep their order, since the declarations of tables are not sound",
            "see `ullage check`",
        )
        return {}
    return column_order(declarations)


def _write_stdin(one: Formatted) -> None:
    """Write what stdin held to stdout; nothing, where it cannot be read."""
    if one.after is not None or not errors_of(one.findings):
        write_program(one.before if one.after is None else one.after)


def _diff(one: Formatted) -> Iterator[str]:
    """What changes in a file, as a unified diff."""
    assert one.after is not None
    lines = difflib.unified_diff(
        _lines(one.before),
        _lines(one.after),
        one.file,
        one.file,
    )
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    """The lines of a text, each with its line feed."""
    *lines, last = text.split("\n")
    return [f"{line}\n" for line in lines] + ([last] if last else [])
