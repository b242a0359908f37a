"""What the exit status says. A status is never given for a reason that is not told here."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit status of every verb; ``sentence`` says what it means."""

    sentence: str

    def __new__(cls, code: int, sentence: str) -> ExitCode:
        """A member of the status ``code``."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.sentence = sentence
        return member

    FINE = 0, "the run did what was asked"
    COULD_NOT_RUN = 1, "the run could not start or end: wrong usage, a missing folder, a defect"
    REFUSED = 2, "a standing is refused, or moves, and `--fail-on` names that"
    INVALID = (
        3,
        "declarations, facts or rules are invalid or not formatted, a record, proof or law test "
        "does not hold, or a mutant survives",
    )
    UNESTABLISHED = 4, "a standing is unestablished, and `--fail-on unestablished` was given"
