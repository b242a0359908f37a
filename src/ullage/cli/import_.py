"""``ullage import``: rows of facts from a configuration or from weight files."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from ullage import progress
from ullage.cli.exit_code import ExitCode
from ullage.cli.output import renderer, write
from ullage.cli.parser import Once, VerbParser, one_of
from ullage.findings import UsageError, listed

if TYPE_CHECKING:
    from ullage.importers.rows import Imported

SUMMARY = "prints rows of facts that a model's configuration or weight files tell"

KINDS = ("config", "safetensors", "gguf")
"""What can be imported."""

GRAINS = ("checkpoint", "vllm")
"""What one parameter is: a tensor of the checkpoint, or what an engine makes of tensors."""

_FLAGS = {"grain": ("safetensors",), "digest": ("safetensors", "gguf")}
_STDOUT = "-"


def arguments(parser: VerbParser) -> None:
    """Add what to import, what to call it, and where to write it."""
    parser.add_argument(
        "kind", metavar="|".join(KINDS), type=one_of("import", KINDS), help="what to read"
    )
    parser.add_argument(
        "source",
        metavar="PATH|REPO",
        help="a file or a folder; but for gguf also a repository, as owner/name@revision",
    )
    parser.add_argument(
        "-o", "--output", action=Once, metavar="FILE", help="write FILE (default: stdout)"
    )
    parser.add_argument(
        "--force", action="store_true", help="write FILE even where somebody has edited it"
    )
    parser.add_argument(
        "--artifact",
        action=Once,
        metavar="NAME",
        help="what to call the artifact (default: the source's name); import config makes rows of "
        "one only where this is given",
    )
    parser.add_argument(
        "--architecture",
        action=Once,
        metavar="NAME",
        help="what to call its architecture (default: the source's name)",
    )
    parser.add_argument(
        "--grain",
        type=one_of("--grain", GRAINS),
        metavar="|".join(GRAINS),
        help="parameters as they are stored, or as the engine has them (default: checkpoint)",
    )
    parser.add_argument(
        "--digest", action="store_true", help="read whole files for their SHA-256, too"
    )


def run(args: Namespace) -> ExitCode:
    """Write the rows; warnings go to stderr. Raises UsageError and PolicyError."""
    for flag, kinds in _FLAGS.items():
        if getattr(args, flag) and args.kind not in kinds:
            raise UsageError(
                f"`import {args.kind}` takes no `--{flag}`", f"it is for {listed(kinds)}"
            )
    if "" in (args.artifact, args.architecture, args.output):
        raise UsageError("a name is empty", "leave the option out to go without it")
    with progress.shown(sys.stderr):
        progress.phase("reading headers")
        made = _imported(args)
    if args.output in (None, _STDOUT):
        write(made.text)
    else:
        from ullage.importers.rows import write_rows

        write_rows(Path(args.output), made.text, args.force)
    if made.findings:
        write(renderer(args.format, sys.stderr).findings(made.findings), sys.stderr)
    return ExitCode.FINE


def _imported(args: Namespace) -> Imported:
    # Imported here: `--help` needs none of it.
    from ullage.importers.artifacts import rows_of_config, rows_of_gguf, rows_of_safetensors
    from ullage.importers.grains import Grain
    from ullage.importers.rows import default_name
    from ullage.importers.sources import locate

    located = locate(args.source, on_hub=args.kind != "gguf")
    architecture = args.architecture or default_name(located.name)
    if args.kind == "config":
        return rows_of_config(located, architecture, args.artifact)
    artifact = args.artifact or default_name(located.name)
    if args.kind == "gguf":
        return rows_of_gguf(located, artifact, architecture, digest=args.digest)
    grain = Grain(args.grain or "checkpoint")
    return rows_of_safetensors(located, artifact, architecture, grain, digest=args.digest)
