"""Which folders of rules and facts a run reads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ullage.findings import UsageError


def default_folders() -> tuple[Path, Path]:
    """The rules and facts of the working folder where both exist, else those shipped."""
    here = (Path("rules"), Path("facts"))
    return here if all(p.is_dir() for p in here) else shipped_folders()


def shipped_folders() -> tuple[Path, Path]:
    """The rules and facts that come with the package."""
    shipped = Path(__file__).parent / "_policy"
    if not shipped.is_dir():
        shipped = Path(__file__).parents[2]
    return shipped / "rules", shipped / "facts"


def folders(
    rules: Sequence[Path | str] | Path | str | None,
    facts: Sequence[Path | str] | Path | str | None,
    rows: bool,
) -> tuple[list[Path], list[Path]]:
    """The folders that a load reads. Raises UsageError for a name that is empty."""
    default_rules, default_facts = default_folders()
    if rules is not None or facts is not None:
        shipped_rules, shipped_facts = shipped_folders()
        default_rules = Path("rules") if Path("rules").is_dir() else shipped_rules
        default_facts = Path("facts") if Path("facts").is_dir() else shipped_facts
    rule_folders = _paths(rules) if rules is not None else [default_rules]
    if facts is not None:
        return rule_folders, _paths(facts)
    return rule_folders, [] if rows else [default_facts]


def _paths(given: Sequence[Path | str] | Path | str) -> list[Path]:
    paths = [given] if isinstance(given, Path | str) else list(given)
    if "" in paths:
        raise UsageError("a folder's name is empty", "write `.` for the working folder")
    return [Path(p) for p in paths]
