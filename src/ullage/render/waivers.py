"""Waivers for people: what is waived of a standing, until when, on whose word and why."""

from __future__ import annotations

from ullage.results import Standing, Waiver, exact_text_of


def waiver_lines(standing: Standing) -> list[str]:
    """A line for each waiver of a standing, then one for the reasons that none matches."""
    several = len(standing.reasons) > 1
    lines = [f"{w.refusal} {_words(w)}" if several else _words(w) for w in standing.waivers]
    if lines and standing.unwaived:
        lines.append(f"not waived: {', '.join(map(exact_text_of, standing.unwaived))}")
    return lines


def _words(waiver: Waiver) -> str:
    return f"waived until {waiver.expires} by {waiver.owner}: {waiver.reason}"
