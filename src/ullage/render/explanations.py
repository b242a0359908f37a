"""Answers to why and why-not, in each format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from ullage.explain.answers import Denial, Explanation
from ullage.explain.goals import Reach
from ullage.explain.outline import DEEPEST, Node
from ullage.explain.refute import Attempt, Failing, Refutation
from ullage.reference.text import aggregate_text, atom_text, literal_text, pattern_text
from ullage.render.human import said
from ullage.render.json_ import Json, document, value_json, waivers_json
from ullage.render.outlines import dot, escaped, markdown, tree
from ullage.render.reaching import reach_json, reaching
from ullage.render.text import one_line
from ullage.render.waivers import waiver_lines
from ullage.results import Standing
from ullage.rules.terms import Aggregate, Literal
from ullage.terminal import encodes


def explanation(
    found: Explanation, format: str, stream: TextIO | None, *, depth: int | None, every: bool
) -> str:
    """Why something holds; as json its proof."""
    if format == "json":
        return document(found.proof().document(), "steps")
    outline = found.outline(depth=depth or DEEPEST, every=every)
    return _told(outline, found.question.words, format, stream, found.standing)


def denial(
    found: Denial,
    format: str,
    stream: TextIO | None,
    *,
    depth: int | None,
    would_do: Reach | None = None,
) -> str:
    """Why something does not hold, and what would make it hold where that was asked, too."""
    if format == "json":
        content = _denial(found)
        if would_do is not None:
            content["would_do"] = reach_json(would_do)
        return document(content, "refuted")
    outline = found.outline(depth=depth or DEEPEST)
    text = _told(outline, found.question.words, format, stream, found.standing)
    unread = [one_line(f"{table} {key}: {column}") for table, key, column in found.unread]
    if format in ("human", "tree") and unread:
        text += "\nunread on the way:\n" + "".join(f"  {cell}\n" for cell in unread)
    if format == "markdown" and unread:
        text += "\nUnread on the way:\n\n" + "".join(f"- {escaped(cell)}\n" for cell in unread)
    if would_do is not None and format in ("human", "tree"):
        text += f"\n{reaching(would_do, 'human')}"
    if would_do is not None and format == "markdown":
        text += f"\n```text\n{reaching(would_do, 'human')}```\n"
    return text


def _told(
    outline: Sequence[Node],
    words: str,
    format: str,
    stream: TextIO | None,
    standing: Standing | None,
) -> str:
    if format == "dot":
        return dot(outline)
    title = words
    waivers: list[str] = []
    if standing is not None:
        waivers = waiver_lines(standing)
        told = said(standing)
        title = f"{standing.law} of {standing.subject_text}: {standing.standing.value}"
        title += " (waived)" * standing.waived + (f"; {told}" if told else "")
    if format == "markdown":
        return markdown(outline, title, waivers)
    head = ""
    if standing is not None:
        head = "".join(f"{line}\n" for line in (one_line(title), *_below(waivers), ""))
    return head + tree(outline, unicode=encodes("└─│", stream))


def _below(waivers: Sequence[str]) -> list[str]:
    return [f"  {one_line(line)}" for line in waivers]


def _denial(found: Denial) -> dict[str, Json]:
    standing = found.standing
    return {
        "schema": "ullage/why-not/1",
        "question": found.question.words,
        "standing": None
        if standing is None
        else {
            "law": standing.law,
            "subject": {n: value_json(v) for n, v in standing.subject},
            "standing": standing.standing.value,
            "verdict": standing.verdict,
            **waivers_json(standing),
        },
        "unread": [_unread(u) for u in found.unread],
        "refuted": [_refutation(r, found) for r in found.refutations],
    }


def _unread(unread: tuple[str, str, str]) -> dict[str, Json]:
    table, key, column = unread
    return {"table": table, "key": key, "column": column}


def _refutation(refutation: Refutation, found: Denial) -> dict[str, Json]:
    patterns = ", ".join(map(pattern_text, refutation.patterns))
    return {
        "atom": f"{refutation.name}({patterns})",
        "shown_above": refutation.repeats,
        "fact": None if refutation.fact is None else _failing(refutation.fact, found),
        "rules": [_attempt(a, found) for a in refutation.attempts],
    }


def _attempt(attempt: Attempt, found: Denial) -> dict[str, Json]:
    place = attempt.rule.position
    return {
        "file": place.file,
        "line": place.line,
        "column": place.column,
        "label": found.explainer.words.label(attempt.rule, attempt.bindings),
        "distance": attempt.distance,
        "held": [c.text for c in attempt.held],
        "failing": [_failing(f, found) for f in attempt.failing],
        "untried": [_literal(u, attempt) for u in attempt.untried],
    }


def _literal(literal: Literal, attempt: Attempt) -> str:
    if isinstance(literal, Aggregate):
        return aggregate_text(literal, (), attempt.bindings)
    return literal_text(literal, attempt.bindings)


def _failing(failing: Failing, found: Denial) -> dict[str, Json]:
    place = failing.literal.position
    short = failing.short
    facts: list[Json] = []
    for atom in failing.at_hand:
        reading = found.explainer.known.reading(atom)
        if reading is not None:
            cell = found.explainer.base.position(reading.row, reading.column or None)
            facts.append(
                {
                    "atom": atom_text(atom),
                    "file": cell.file,
                    "line": cell.line,
                    "source": reading.row.source or None,
                }
            )
    obstacle = failing.obstacle
    return {
        "condition": failing.text,
        "file": place.file,
        "line": place.line,
        "column": place.column,
        "short": None if short is None else value_json(found.explainer.result(short)),
        "at_hand": facts,
        "unread": None if failing.unread is None else _unread(failing.unread),
        "obstacle": [] if obstacle is None else [atom_text(a) for a in obstacle.steps()],
        "because": None if failing.because is None else _refutation(failing.because, found),
        "why": failing.why or None,
    }
