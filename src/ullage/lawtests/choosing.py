"""Which cases an expression of words chooses: ``memory and not (floor or spare)``."""

from __future__ import annotations

import re
from collections.abc import Callable

from ullage.findings import UsageError

Choice = Callable[[str], bool]
"""Whether a text is chosen."""

_TOKEN = re.compile(r"\s*([()]|[^\s()]+)")


def chooser(expression: str) -> Choice:
    """What an expression chooses: texts that hold its words, in any case, as and/or/not say.

    Raises UsageError for an expression that cannot be read.
    """
    tokens = _TOKEN.findall(expression)
    if not tokens:
        raise UsageError("`-k` has no words", "write a word of a case's name, as in `-k floor`")
    reader = _Reader(expression, tokens)
    choice = reader.either()
    if reader.left:
        raise reader.amiss(f"`{reader.left[0]}` stands where `and` or `or` should")
    return choice


class _Reader:
    """Reads an expression from its tokens; ``left`` are those not read yet."""

    def __init__(self, expression: str, tokens: list[str]) -> None:
        self.expression = expression
        self.left = tokens
        self.open = 0

    def amiss(self, why: str) -> UsageError:
        """The error that tells why."""
        return UsageError(
            f"`-k` does not take `{self.expression}`: {why}",
            "words are joined by `and`, `or` and `not`, as in `-k 'floor and not spare'`",
        )

    def _next(self, word: str) -> bool:
        if self.left and self.left[0] == word:
            self.left.pop(0)
            return True
        return False

    def either(self) -> Choice:
        """What ``or`` joins."""
        choices = [self._both()]
        while self._next("or"):
            choices.append(self._both())
        return lambda text: any(c(text) for c in choices)

    def _both(self) -> Choice:
        choices = [self._one()]
        while self._next("and"):
            choices.append(self._one())
        return lambda text: all(c(text) for c in choices)

    def _one(self) -> Choice:
        negated = False
        while self._next("not"):
            negated = not negated
        choice = self._word()
        return (lambda text: not choice(text)) if negated else choice

    def _word(self) -> Choice:
        if not self.left:
            raise self.amiss("it ends where a word should stand")
        token = self.left.pop(0)
        if token == "(":
            self.open += 1
            if self.open > _DEEPEST:
                raise self.amiss("its brackets are too deep")
            choice = self.either()
            if not self._next(")"):
                raise self.amiss("a bracket has no end")
            self.open -= 1
            return choice
        if token in (")", "and", "or"):
            raise self.amiss(f"`{token}` stands where a word should")
        word = token.casefold()
        return lambda text: word in text.casefold()


_DEEPEST = 50
