"""A small policy with a rule of every kind of condition, for tests of why, why-not and proofs."""

from __future__ import annotations

from pathlib import Path

from support import declared

TABLES = """\
sorts:
  shade: {values: [red, green, blue]}
  tone:
    forms:
      plain: {}
      mixed: {Shade: shade, Parts: count}
  tensor: {dotted: true}
tables:
  paint:
    source: required
    key: {paint: paint}
    columns:
      shade: {sort: shade, doc: Its shade.}
      size: {sort: bytes, doc: What it takes.}
      parts: {sort: count, default: 2, doc: Of how many it is mixed.}
      glossy: {sort: bool, doc: Whether it shines.}
      names: {sort: text, list: true, doc: What people call it.}
  over:
    key: {top: {sort: paint, references: paint}, under: {sort: paint, references: paint}}
    columns: {weight: bytes}
  model: {key: {model: model}, columns: {}}
  part:
    key:
      model: {sort: model, references: model}
      layer: {sort: count, ranges: true, alike: true, maximum: 500}
      name: tensor
    columns: {size: bytes}
"""

FACTS = {
    "a.yaml": """\
paint:
  - paint: oak/2-b.c d
    shade: red
    size: 1.5 GiB
    glossy: true
    names: [the old one, "a \\"b\\", c"]
    source: [shelf 3, list of 4 May]
  - {paint: elm, shade: green, size: 500 MB, parts: 5, source: list of 4 May}
  - {paint: ääh, shade: red, size: 1 B, glossy: false, source: 漢字}
""",
    "b.yaml": """\
over:
  - {top: elm, under: ääh, weight: 3 B}
  - {top: ääh, under: oak/2-b.c d}
  - {top: elm, under: oak/2-b.c d, weight: 4 B}
model: [{model: m}]
part:
  - {model: m, layer: 0..2, name: x.y.z, size: 1 GiB}
  - {model: m, layer: [1, 3], name: x.w, size: 3 B}
""",
}
"""Rows of facts by file."""

# Each block is a predicate with its rules; every order of them is the same policy.
BLOCKS = (
    declared("compared", Paint="paint", Size="bytes")
    + """\
%!trace_rule {"% takes %, which is enough", Paint, Size}.
compared(Paint, Size) :- paint(Paint, size, Size), Size >= "400 MB".
""",
    declared("chained", Paint="paint", Size="bytes")
    + """\
%!trace_rule {"% lies between", Paint}.
chained(Paint, Size) :- paint(Paint, size, Size), "1 B" < Size <= "1 GB" != Size.
""",
    declared("computed", Paint="paint", Size="bytes", Third="bytes")
    + """\
%!trace_rule {"a third of % is %", Paint, Third}.
computed(Paint, Size - Third, Third) :-
    paint(Paint, size, Size), Third = Size / 3, @floor(Third) > "0 B".
""",
    declared("absent", Paint="paint")
    + """\
%!trace_rule {"nobody looked whether % shines", Paint}.
absent(Paint) :-
    paint(Paint),
    not paint(Paint, glossy, _),
    not compared(Paint, "1 B").
""",
    declared("twice_negated", Paint="paint")
    + """\
%!trace_rule {"somebody looked whether % shines", Paint}.
twice_negated(Paint) :- paint(Paint), not not paint(Paint, glossy, _).
""",
    declared("summed", Paint="paint", Weight="bytes")
    + """\
%!trace_rule {"what is under % weighs %", Paint, Weight}.
summed(Paint, Weight) :-
    paint(Paint),
    Weight = #sum { Own, Under : over((Paint, Under), weight, Own) },
    "1 B" <= #sum { Own, Under : over((Paint, Under), weight, Own) } <= "1 GB".
""",
    declared("counted", Paint="paint", Number="count")
    + """\
%!trace_rule {"% is over %", Paint, Number}.
counted(Paint, Number) :-
    paint(Paint), Number = #count { Under : over((Paint, Under)) },
    not #count { Under : over((Paint, Under)) } > 5.
""",
    declared("extremes", Least="bytes", Most="bytes")
    + """\
%!trace_rule {"sizes go from % to %", Least, Most}.
extremes(Least, Most) :-
    Least = #min { Size, Paint : paint(Paint, size, Size) },
    Most = #max { Size, Paint : paint(Paint, size, Size) }.
""",
    declared("greater", Paint="paint", Size="bytes")
    + """\
%!trace_rule {"% counts as %", Paint, Size}.
greater(Paint, Size) :- paint(Paint, size, Own), Size = #max { Own; "1 GiB" }.
""",
    declared("all_weighed", Paint="paint")
    + """\
%!trace_rule {"all that is under % is weighed", Paint}.
all_weighed(Paint) :-
    over((Paint, _)), over((Paint, Under), weight, _) : over((Paint, Under)).
""",
    declared("pooled", Paint="paint", Shade="shade")
    + """\
%!trace_rule {"% is of a warm or a cold shade, %", Paint, Shade}.
pooled(Paint, Shade) :- paint(Paint, shade, Shade), Shade = (red; blue), Shade != green.
""",
    declared("numbered", Paint="paint", Number="count")
    + """\
%!trace_rule {"% has a part %", Paint, Number}.
numbered(Paint, Number) :- paint(Paint, parts, Parts), Number = 1..Parts.
""",
    declared("toned", Paint="paint", Tone="tone")
    + """\
%!trace_rule {"% is mixed", Paint}.
toned(Paint, mixed(Shade, Parts + 1)) :-
    paint(Paint, shade, Shade),
    paint(Paint, parts, Parts).
%!trace_rule {"% is plain", Paint}.
toned(Paint, plain) :- paint(Paint), not paint(Paint, glossy, true).
""",
    declared("mixed_red", Paint="paint", Parts="count")
    + """\
%!trace_rule {"% is red, of %", Paint, Parts}.
mixed_red(Paint, Parts) :- toned(Paint, mixed(red, Parts)), #true.
""",
    declared("called", Paint="paint", Place="count", Name="text")
    + """\
%!trace_rule {"% is called %", Paint, Name}.
called(Paint, Place, Name) :- paint(Paint, names, (Place, Name)).
""",
    declared("paired", Pair="(paint, paint)")
    + """\
%!trace_rule {"something lies on something"}.
paired((Top, Under)) :- over((Top, Under)), (Top, Under) != ("elm", "ääh").
""",
    declared("constant", Paint="paint")
    + """\
%!trace_rule {"elm is the one"}.
constant("elm") :- paint("elm", shade, green).
%!trace_rule {"% takes a byte", Paint}.
constant(Paint) :- paint(Paint, size, "1 B").
""",
    declared("segment", Name="tensor", Run="text")
    + """\
%!trace_rule {"% has %", Name, Run}.
segment(Name, Run) :- part(("m", _, Name)), tensor_part((Name, Run)).
""",
    declared("of_kind", Layer="count", First="count", Size="bytes")
    + """\
%!trace_rule {"layer % is like %, and takes %", Layer, First, Size}.
of_kind(Layer, First, Size) :-
    part_alike(("m", Layer), first, First),
    Size = #sum { Part, Name : part_first(("m", First, Name), size, Part) }.
""",
    declared("reaches", Top="paint", Under="paint")
    + """\
%!trace_rule {"% lies right on %", Top, Under}.
reaches(Top, Under) :- over((Top, Under)).
%!trace_rule {"% lies on %, with something between", Top, Under}.
reaches(Top, Under) :- reaches(Top, Between), over((Between, Under)).
""",
    declared("apart", Top="paint", Under="paint")
    + """\
%!trace_rule {"% does not lie on %", Top, Under}.
apart(Top, Under) :- paint(Top), paint(Under), not reaches(Top, Under), Top != Under.
""",
    """\
%*! fine(Paint)
Whether a paint is fine.
Args:
  - Paint: paint
Subjects: paint(Paint)
Verdicts:
  - good [established]: {size} of it
  - refused [refused]
  - unestablished [unestablished]
Reasons:
  - dull(Paint: paint): {Paint} does not shine
  - cold: it is cold
Obligations:
  - glossy: whether it shines
Values:
  - size: bytes
*%
%!trace_rule {"% is fine", Paint}.
standing(fine, Paint, good) :- paint(Paint, glossy, true).
%!trace_rule {"% is not fine", Paint}.
standing(fine, Paint, refused) :- paint(Paint, glossy, false).
%!trace_rule {"whether % is fine is open", Paint}.
standing(fine, Paint, unestablished) :- paint(Paint), not paint(Paint, glossy, _).
%!trace_rule {"% does not shine", Paint}.
reason(fine, Paint, dull(Paint)) :- standing(fine, Paint, refused).
%!trace_rule {"% is cold", Paint}.
reason(fine, Paint, cold) :- standing(fine, Paint, refused), paint(Paint, shade, blue).
%!trace_rule {"somebody is to look whether % shines", Paint}.
obligation(fine, Paint, glossy) :- standing(fine, Paint, unestablished).
%!trace_rule {"% takes %", Paint, Size}.
value(fine, Paint, size, Size) :- paint(Paint, size, Size).
""",
    """\
%*! layers(Paint, Under)
What lies on what.
Args:
  - Paint: paint
  - Under: paint
Plan: what lies on what
Subjects: over((Paint, Under))
Values:
  - weight: bytes
  - shade: shade
*%
%!trace_rule {"% on % weighs %", Paint, Under, Weight}.
plan(layers, (Paint, Under), weight, Weight) :- over((Paint, Under), weight, Weight).
%!trace_rule {"% is %", Under, Shade}.
plan(layers, (Paint, Under), shade, Shade) :- over((Paint, Under)), paint(Under, shade, Shade).
""",
)

HEADER = """\
% Purpose  every kind of condition
% Input    over/1, over/3, paint/1, paint/3, part/1, part_alike/3, part_first/3
% Input    tensor_part/1
% Output   absent/1, all_weighed/1, apart/2, called/3, chained/2, compared/2, computed/3, constant/1
% Output   counted/2, extremes/2, greater/2, mixed_red/2, numbered/2, of_kind/3, paired/1, pooled/2
% Output   reaches/2, segment/2, summed/2, toned/2, twice_negated/1
% Output   standing/3, reason/3, obligation/3, value/4, plan/4

"""


def write(folder: Path, blocks: tuple[str, ...] = BLOCKS, facts: dict[str, str] = FACTS) -> Path:
    """Write the policy, or one with its blocks and files otherwise; gives the folder."""
    tables = folder / "rules" / "tables"
    tables.mkdir(parents=True, exist_ok=True)
    (tables / "zoo.yaml").write_text(TABLES, encoding="utf-8")
    (folder / "rules" / "zoo.lp").write_text(HEADER + "\n".join(blocks), encoding="utf-8")
    (folder / "facts").mkdir(exist_ok=True)
    for name, text in facts.items():
        (folder / "facts" / name).write_text(text, encoding="utf-8")
    return folder
