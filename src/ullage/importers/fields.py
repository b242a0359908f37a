"""The fields of a configuration: read one by one, each fault a finding at its place.

Where a field is at fault the reader hands back something harmless and goes on, so that one run
tells all faults; nothing that was read is of use while ``errors`` holds any.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from ullage.findings import Finding, Position, listed
from ullage.importers.checkpoint import shortened
from ullage.importers.jsontext import MOST_FINDINGS, JsonDocument, Node, Number, kind_of
from ullage.sorts import COUNT_RANGE

INNER = "text_config"
"""Where a configuration of a model for more than text keeps what its text part is like."""

_T = TypeVar("_T")
_WHOLE = re.compile(r"-?[0-9]{1,40}")


class Fields:
    """Reads the fields of one configuration; those of ``text_config`` count as its own."""

    def __init__(self, document: JsonDocument) -> None:
        self.document = document
        self.findings: list[Finding] = list(document.findings)
        self.root = self._mapping(document.root, "the configuration")
        self.inner = self._mapping(self.root.get(INNER), f"field `{INNER}`")

    @property
    def errors(self) -> bool:
        """Whether anything was at fault so far."""
        return any(f.severity.value == "error" for f in self.findings)

    def find(self, name: str) -> Node | None:
        """The value of a field; None where it is absent or ``null``.

        Code: ``contradictory-config``, where it stands in both places with two values.
        """
        here, there = (
            None if node is None or node.value is None else node
            for node in (self.inner.get(name), self.root.get(name))
        )
        if here is not None and there is not None and here != there:
            self.contradict(f"field `{name}` has two values", there, here, "is the other")
        return there if here is None else here

    def has(self, name: str) -> bool:
        """Whether a field is there, be it ``null``."""
        return name in self.inner or name in self.root

    def count(
        self, name: str, *, absent: int | None = None, least: int = 1, most: int = COUNT_RANGE - 1
    ) -> int:
        """A whole number; ``absent`` where it is absent and may be.

        Codes: ``missing-field``, ``not-a-count``, ``count-out-of-range``.
        """
        node = self.find(name)
        if node is None:
            if absent is None:
                self.missing(name)
            return least if absent is None else absent
        return self.whole(node, f"field `{name}`", least=least, most=most)

    def optional_count(self, name: str, *, least: int = 1) -> int | None:
        """A whole number, or None where it is absent."""
        return None if self.find(name) is None else self.count(name, least=least)

    def whole(self, node: Node, what: str, *, least: int, most: int = COUNT_RANGE - 1) -> int:
        """The whole number that a value is."""
        text = node.value.text if isinstance(node.value, Number) else ""
        if not _WHOLE.fullmatch(text):
            self.report(
                "not-a-count",
                f"{what} is {kind_of(node)}, not a whole number",
                node,
                "write digits only, as in `16`",
            )
            return least
        number = int(text)
        if not least <= number <= most:
            self.report(
                "count-out-of-range",
                f"{what} is {kind_of(node)}, outside {least} to {most}",
                node,
                "compare it with a copy of the configuration",
            )
            return least
        return number

    def flag(self, name: str, *, absent: bool) -> bool:
        """``true`` or ``false``. Code: ``not-a-bool``."""
        node = self.find(name)
        if node is None:
            return absent
        if isinstance(node.value, bool):
            return node.value
        self.report(
            "not-a-bool",
            f"field `{name}` is {kind_of(node)}, neither `true` nor `false`",
            node,
            "write `true` or `false`, without quotes",
        )
        return absent

    def word(self, name: str) -> str | None:
        """A text, or None where it is absent. Code: ``not-text``."""
        node = self.find(name)
        return None if node is None else self.text(node, f"field `{name}`")

    def words(self, name: str) -> tuple[str, ...] | None:
        """A list of texts, or None where it is absent. Codes: ``not-a-list``, ``not-text``."""
        return self._elements(name, lambda node: self.text(node, f"an element of `{name}`") or "")

    def counts(self, name: str, *, least: int = 0) -> tuple[int, ...] | None:
        """A list of whole numbers, or None where it is absent."""
        what = f"an element of `{name}`"
        return self._elements(name, lambda node: self.whole(node, what, least=least))

    def text(self, node: Node, what: str) -> str | None:
        """The text that a value is. Code: ``not-text``."""
        if isinstance(node.value, str):
            return node.value
        self.report("not-text", f"{what} is {kind_of(node)}, not text", node, "put it in quotes")
        return None

    def within(self, name: str) -> Fields | None:
        """The fields of a field that is a mapping, which report here; None where it is absent."""
        node = self.find(name)
        if node is None:
            return None
        inner = Fields(JsonDocument(self.document.file, self.document.text, node, ()))
        self.findings += inner.findings
        inner.findings = self.findings
        return inner

    def one_of(self, name: str, known: Mapping[str, bool]) -> tuple[bool, ...] | None:
        """A list of known words, each as the flag it stands for; None where it is absent.

        Code: ``not-in-closed-set``.
        """

        def flag(node: Node) -> bool:
            word = self.text(node, f"an element of `{name}`")
            if word is not None and word not in known:
                self.report(
                    "not-in-closed-set",
                    f"{shortened(word)} is no element of `{name}` that is known",
                    node,
                    f"elements are {listed(list(known))}",
                )
            return known.get(word or "", False)

        return self._elements(name, flag)

    def missing(self, name: str, why: str = "") -> None:
        """Report a field that is needed. Code: ``missing-field``."""
        node = self.inner.get(name) or self.root.get(name)
        outside = node or self.root.get(INNER) or self.document.root
        places = () if outside is None else (self.place(outside),)
        stands = "is `null`" if node is not None else "is missing"
        self.findings.append(
            Finding(
                "missing-field",
                f"field `{name}` {stands}{why}",
                places,
                "copy it from the model's own configuration",
            )
        )

    def contradict(
        self, message: str, node: Node, other: Node | None = None, note: str = "", help: str = ""
    ) -> None:
        """Report fields that cannot all hold. Code: ``contradictory-config``."""
        more = () if other is None else (self.place(other, note),)
        self.report(
            "contradictory-config",
            message,
            node,
            help or "compare both with a copy of the configuration",
            more,
        )

    def report(
        self, code: str, message: str, node: Node, help: str, more: tuple[Position, ...] = ()
    ) -> None:
        """Note a finding at a value; beyond MOST_FINDINGS more of them tell nothing new."""
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(Finding(code, message, (self.place(node), *more), help))

    def place_of(self, name: str) -> Position:
        """Where a field stands; where the configuration begins, if it is absent."""
        node = self.root.get(name) or self.inner.get(name) or self.document.root
        return Position(self.document.file, 1, 1) if node is None else self.place(node)

    def place(self, node: Node, note: str = "") -> Position:
        """Where a value stands."""
        return self.document.place(node, note)

    def _mapping(self, node: Node | None, what: str) -> Mapping[str, Node]:
        if node is None or node.value is None:
            return {}
        if isinstance(node.value, Mapping):
            return node.value
        self.report(
            "not-a-mapping",
            f"{what} is {kind_of(node)}, not a mapping",
            node,
            'write `{"name": value}`',
        )
        return {}

    def _elements(self, name: str, read: Callable[[Node], _T]) -> tuple[_T, ...] | None:
        node = self.find(name)
        if node is None:
            return None
        if isinstance(node.value, tuple):
            return tuple(read(element) for element in node.value)
        self.report(
            "not-a-list", f"field `{name}` is {kind_of(node)}, not a list", node, "write `[a, b]`"
        )
        return None
