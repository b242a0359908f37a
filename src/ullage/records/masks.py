"""What stands in a record in place of a sensitive value: a digest, by a key where there is one."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from ullage.facts import FactBase
from ullage.findings import UsageError
from ullage.records.flows import NONE, Paths, flows, inside, place, sensitive_columns
from ullage.render.json_ import Json, standing_json, value_json, waiver_json
from ullage.results import Standing, Term, Value, Waiver, exact_text_of
from ullage.rules.book import RuleBook
from ullage.rules.declared import LawDecl
from ullage.sorts import EntitySort, FormsSort, TextSort

KEY = "ULLAGE_RECORD_KEY"
"""The environment variable that holds the key of the masks' digests."""

_SHORTEST_KEY = 16
_WORD = re.compile(r"\w+")
_DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Key:
    """What digests of sensitive values are made with; without a secret anybody can guess them."""

    secret: bytes = b""

    @classmethod
    def of_environment(cls) -> Key:
        """The key that the environment names. Raises UsageError for one that is too short."""
        text = os.environ.get(KEY, "")
        if 0 < len(text) < _SHORTEST_KEY:
            raise UsageError(
                f"`{KEY}` has {len(text)} characters, and a key has at least {_SHORTEST_KEY}",
                "make one with `openssl rand -hex 32`",
            )
        return cls(text.encode("utf-8", "surrogateescape"))

    @property
    def name(self) -> str | None:
        """What tells one key from another; None where there is none."""
        return self.digest("ullage/record/1")[:16] if self.secret else None

    def digest(self, text: str) -> str:
        """HMAC-SHA256 of a text by the secret; its SHA-256 where there is none."""
        data = text.encode("utf-8", "surrogatepass")
        if not self.secret:
            return hashlib.sha256(data).hexdigest()
        return hmac.new(self.secret, data, hashlib.sha256).hexdigest()

    def mask(self, text: str) -> dict[str, Json]:
        """What stands for a text."""
        return {"masked": self.digest(text)}


def is_mask(value: object) -> bool:
    """Whether a value of a record is masked."""
    if not isinstance(value, Mapping) or value.keys() != {"masked"}:
        return False
    # A law's only argument may be named `Masked`.
    digest = value["masked"]
    return isinstance(digest, str) and _DIGEST.fullmatch(digest) is not None


class Masks:
    """Shows values as a record does: those of sensitive columns are masked, and what is taken from
    them; and each text that repeats the text of a sensitive cell.
    """

    def __init__(
        self,
        key: Key,
        columns: Collection[tuple[str, str]] = (),
        ways: Mapping[str, Paths] | None = None,
        texts: Collection[str] = (),
    ) -> None:
        """Masks of these columns, of the parts of conclusions that their values reach, and of
        whatever repeats these texts.
        """
        self.key = key
        self.columns = frozenset(columns)
        self.flows = ways or {}
        self.texts: dict[str, list[str]] = {}
        for text in sorted(texts):
            first = _WORD.search(text)
            self.texts.setdefault(first.group() if first else "", []).append(text)

    @classmethod
    def of(cls, book: RuleBook, base: FactBase, key: Callable[[], Key]) -> Masks:
        """The masks of a policy's sensitive columns; the key is asked for where there are any."""
        columns = sensitive_columns(base.declarations)
        if not columns:
            return cls(Key())
        rules = [typed.rule for typed in book.rules]
        ways = flows(rules, base.declarations, columns)
        return cls(key(), columns, ways, set(_texts(base, columns)))

    def text(self, text: str) -> Json:
        """A text that is no sensitive value itself."""
        return self.key.mask(text) if self.repeats(text) else text

    def repeats(self, text: str) -> bool:
        """Whether the text of a sensitive cell stands in a text, with no letter or digit beside."""
        for word in _WORD.finditer(text) if self.texts else ():
            for known in self.texts.get(word.group(), ()):
                # Signs may stand before the first word of a name.
                at = word.start() - known.index(word.group())
                end = at + len(known)
                ends = not (known[-1:] + text[end : end + 1]).isalnum() or end == len(text)
                if at >= 0 and text[at:end] == known and ends:
                    return True
        return any(known in text for known in self.texts.get("", ()))

    def standing(self, standing: Standing, law: LawDecl) -> dict[str, Json]:
        """A standing as ``standings --format json`` has it."""
        shown = dict(standing_json(standing))
        shown["subject"] = self._subject(standing, law)
        for kind, told in (("reason", standing.reasons), ("obligation", standing.obligations)):
            paths = inside(self.flows.get(place(kind, law.name), NONE), 2)
            shown[f"{kind}s"] = [{kind: t.name, "args": self._args(t, paths)} for t in told]
            if kind == "reason":
                shown["waivers"] = [self._waiver(w, standing, paths) for w in standing.waivers]
        figures = {}
        for name, figure in standing.values:
            paths = inside(self.flows.get(place("value", law.name, name), NONE), 3)
            figures[name] = self.value(figure, paths)
        shown["values"] = figures
        return shown

    def _waiver(self, waiver: Waiver, standing: Standing, paths: Paths) -> dict[str, Json]:
        """A waiver; the whole text of a reason tells what the reason's arguments do."""
        shown = waiver_json(waiver)
        hides = any(
            self._args(t, paths) != {n: value_json(v) for n, v in t.args}
            for t in standing.reasons
            if waiver.refusal == exact_text_of(t)
        )
        for name in ("refusal", "reason", "owner", "expires"):
            text = str(shown[name])
            shown[name] = self.key.mask(text) if hides and name == "refusal" else self.text(text)
        return shown

    def hides(self, standing: Standing, law: LawDecl) -> bool:
        """Whether some part of a subject is masked."""
        plain = {name: value_json(value) for name, value in standing.subject}
        return self._subject(standing, law) != plain

    def value(self, value: Value, paths: Paths = NONE) -> Json:
        """A value of which these parts are sensitive."""
        if () in paths:
            return self.key.mask(exact_text_of(value))
        match value:
            case Term(name=name):
                return {"name": name, "args": self._args(value, paths)}
            case tuple():
                return [self.value(v, inside(paths, i)) for i, v in enumerate(value)]
            case str():
                return self.text(value)
        return value_json(value)

    def _args(self, term: Term, paths: Paths) -> dict[str, Json]:
        return {
            name: self.value(value, inside(paths, (term.name, i)))
            for i, (name, value) in enumerate(term.args)
        }

    def _subject(self, standing: Standing, law: LawDecl) -> dict[str, Json]:
        """The parts of a subject: what any conclusion about it takes from a column is masked."""
        told = [place(kind, law.name) for kind in ("standing", "reason", "obligation")]
        told += [place("value", law.name, name) for name in law.values]
        paths = NONE.union(*(inside(self.flows.get(p, NONE), 1) for p in told))
        collected = self.flows.get(law.collects, NONE)
        sort = law.subject_sort
        paths |= inside(collected, 0) if len(law.arguments) == 1 else collected

        def part(i: int) -> Paths:
            if isinstance(sort, FormsSort):
                # Its arguments alone are shown, and not which form it is.
                return NONE.union(*(inside(paths, (form, i)) for form in sort.forms))
            return inside(paths, i) if len(law.arguments) > 1 else paths

        return {n: self.value(v, part(i)) for i, (n, v) in enumerate(standing.subject)}


def _texts(base: FactBase, columns: Collection[tuple[str, str]]) -> Iterator[str]:
    """The texts in the cells of some columns."""
    for name, rows in base.rows.items():
        table = base.declarations.tables[name]
        key = [
            i
            for i, c in enumerate(table.key)
            if (name, c.name) in columns and isinstance(c.sort, TextSort | EntitySort)
        ]
        cells = [
            c.name
            for c in table.columns.values()
            if (name, c.name) in columns and isinstance(c.sort, TextSort | EntitySort)
        ]
        if key or cells:
            for row in rows:
                values = [row.key[i] for i in key]
                for cell in (row.cells[c] for c in cells if c in row.cells):
                    inner = cell.value if isinstance(cell.value, tuple) else (cell,)
                    values += [c.value for c in inner if not isinstance(c.value, tuple)]
                yield from (str(v) for v in values if str(v).strip())
