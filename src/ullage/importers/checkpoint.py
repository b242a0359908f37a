"""A checkpoint as its headers tell it: files and tensors, without a byte of a tensor read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ullage.findings import Finding, PolicyError, Position, Severity, errors_of

MAX_TENSORS = 1_000_000
"""Most tensors of one checkpoint; known ones have up to 150,000."""

_MOST_OF_A_CODE = 20
_LONGEST_NAME = 512


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor by name; ``bytes`` is what it takes in its file, which ``file`` names."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int
    file: str


@dataclass(frozen=True, slots=True)
class CheckpointFile:
    """A file of a checkpoint. ``path`` is relative to the checkpoint.

    Its first ``header_bytes`` bytes, of digest ``header_sha256``, are no tensor. ``sha256`` is the
    digest of the whole file, where it was asked for.
    """

    path: str
    bytes: int
    header_bytes: int
    header_sha256: str
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """All files and tensors, and what the headers say beside."""

    files: tuple[CheckpointFile, ...]
    tensors: tuple[Tensor, ...]
    metadata: Mapping[str, str]

    @property
    def tensor_bytes(self) -> int:
        """Bytes of all tensors."""
        return sum(t.bytes for t in self.tensors)

    @property
    def file_bytes(self) -> int:
        """Bytes of all files."""
        return sum(f.bytes for f in self.files)


@dataclass(slots=True)
class Report:
    """Collects findings about files, the first of each code: a bad file has one a tensor."""

    findings: list[Finding] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def note(self, finding: Finding) -> None:
        """Take in a finding."""
        self.counts[finding.code] += 1
        if self.counts[finding.code] <= _MOST_OF_A_CODE:
            self.findings.append(finding)

    def add(self, code: str, message: str, file: str | Position, help: str) -> None:
        """Note an error at the start of a file, or at a place in it."""
        place = Position(file, 1, 1) if isinstance(file, str) else file
        self.note(Finding(code, message, (place,), help))

    def warn(self, code: str, message: str, file: str, help: str) -> None:
        """Note a warning about a file."""
        self.note(Finding(code, message, (Position(file, 1, 1),), help, Severity.WARNING))

    def close(self) -> tuple[Finding, ...]:
        """The warnings, in order. Raises PolicyError where there are errors."""
        for code, count in self.counts.items():
            if count > _MOST_OF_A_CODE:
                last = max((f for f in self.findings if f.code == code), key=lambda f: f.sort_key)
                more = f"there are {count - _MOST_OF_A_CODE} more findings of this code"
                self.findings.append(replace(last, message=more))
        if errors_of(self.findings):
            raise PolicyError(self.findings)
        return tuple(sorted(set(self.findings), key=lambda f: f.sort_key))


def is_sound_name(name: str) -> bool:
    """Whether a tensor's name can be a name of the catalog: printable, and of sensible length."""
    return 0 < len(name) <= _LONGEST_NAME and name.isprintable()


def shortened(name: str) -> str:
    """A name from a file as a message shows it: in backticks, cut, and safe to print."""
    cut = name if len(name) <= 80 else f"{name[:77]}..."
    if not cut.isprintable():
        cut = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in cut)
    return f"`{cut}`"
