"""``ullage schema``: JSON Schemas of facts, for editors."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from ullage.cli.exit_code import ExitCode
from ullage.cli.output import say, write_program
from ullage.cli.parser import Once, VerbParser
from ullage.findings import PolicyError, UsageError, counted, errors_of
from ullage.textfiles import shown_path, write_whole

if TYPE_CHECKING:
    from ullage.declarations import Declarations
    from ullage.facts import FactBase

SUMMARY = "prints JSON Schemas of facts, by which editors complete and check them"


def arguments(parser: VerbParser) -> None:
    """Add where to write them."""
    parser.add_argument(
        "-o",
        "--output",
        action=Once,
        metavar="DIR",
        help="write DIR/facts.json, and DIR/tables/TABLE.json of each table (default: that of a "
        "fact file to stdout)",
    )
    parser.add_folders()


def run(args: Namespace) -> ExitCode:
    """Print or write the schemas. Raises UsageError, and PolicyError for unsound declarations."""
    from ullage.tableschema import fact_file_schema, table_schemas

    declarations, base = _read(args)
    whole = _text(fact_file_schema(declarations, base))
    if args.output is None:
        write_program(whole)
        return ExitCode.FINE
    if not args.output:
        raise UsageError("a folder's name is empty", "write `.` for the working folder")
    folder = Path(args.output)
    files = {folder / "facts.json": whole}
    for name, schema in table_schemas(declarations, base).items():
        files[folder / "tables" / f"{name}.json"] = _text(schema)
    try:
        (folder / "tables").mkdir(parents=True, exist_ok=True)
        stale = [p for p in (folder / "tables").glob("*.json") if p not in files and _ours(p)]
        for path, text in files.items():
            write_whole(path, text)
        for path in stale:
            path.unlink()
    except OSError as error:
        raise UsageError(
            f"cannot write `{shown_path(folder)}`: {error.strerror or error}"
        ) from error
    gone = f", {len(stale)} stale removed" if stale else ""
    say(f"{counted(len(files), 'schema')} written to `{shown_path(folder)}`{gone}")
    return ExitCode.FINE


def _read(args: Namespace) -> tuple[Declarations, FactBase]:
    """The declarations, and the rows whose keys are offered."""
    from ullage.facts import load_facts
    from ullage.folders import folders
    from ullage.tables import load_declarations

    rules, facts = folders(args.rules, args.facts, rows=False)
    declarations, findings = load_declarations(rules)
    if errors_of(findings):
        raise PolicyError(findings)
    base, findings = load_facts(declarations, facts)
    if errors_of(findings):
        say(
            "some facts are not sound, and the keys of their rows may be missing",
            "see `ullage check`",
        )
    return declarations, base


def _text(schema: object) -> str:
    return json.dumps(schema, ensure_ascii=False, indent=2) + "\n"


def _ours(path: Path) -> bool:
    """Whether we wrote a file."""
    from ullage.tableschema import WRITTEN

    try:
        told = json.loads(path.read_bytes())
    except ValueError:
        return False
    return isinstance(told, dict) and told.get("$comment") == WRITTEN
