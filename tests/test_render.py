"""What each format prints, to the character."""

from __future__ import annotations

import io
import json
import re
import sys
from fractions import Fraction
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import (
    ALIASED,
    BINDINGS,
    FINDINGS,
    HOST,
    MARLIN,
    MOVES,
    PLANS,
    STANDINGS,
    TRITON,
    UNREAD,
    standing,
)

from ullage.findings import Finding, Position
from ullage.moves import Moved, Moves, SupposedCell
from ullage.render import FORMATS, View
from ullage.render.text import field, one_line
from ullage.results import (
    Assumption,
    Bar,
    Bindings,
    Plan,
    PlanLayout,
    Plans,
    Quantity,
    StandingClass,
    Term,
)
from ullage.sorts import BYTES, COUNT
from ullage.terminal import encodes, wants_colour

HUMAN = FORMATS["human"](View())
JSON = FORMATS["json"](View())
CONCISE = FORMATS["concise"](View())


def golden(text: str) -> str:
    return dedent(text).lstrip("\n")


def test_human_standings() -> None:
    assert HUMAN.standings(STANDINGS) == golden(
        """
        weight_offload_split                    1 refused · 1 unestablished · 1 established
          refused        gh200-glm52-marlin     backend MARLIN allocates new weights and scales
          unestablished  gh200-glm52            to read: uva_available, moe_backend
          established    gh200-glm52-triton     zero-copy UVA view, 0 device copies

        node_memory                             1 established
          established    spark                  physical_usable 128 GiB, reserve 25.60 GiB

        component_identity                      1 refused
          refused        gh200/coherent_link    two rows claim it; addressability differs
        """
    )


def test_human_standings_with_exact_values() -> None:
    assert FORMATS["human"](View(values=True)).standings([TRITON, HOST]) == golden(
        """
        weight_offload_split                   1 established
          established    gh200-glm52-triton    zero-copy UVA view, 0 device copies
              device_copies  0

        node_memory                            1 established
          established    spark
              physical_usable  128 GiB    137438953472 bytes
              reserve          25.60 GiB  27487790694.4 bytes
        """
    )


def test_human_standings_in_ascii_and_in_colour() -> None:
    ascii_only = FORMATS["human"](View(unicode=False)).standings(STANDINGS)
    assert "1 refused, 1 unestablished, 1 established" in ascii_only
    assert ascii_only.isascii()
    coloured = FORMATS["human"](View(colour=True)).standings([MARLIN])
    assert "\x1b[31mrefused      \x1b[0m  gh200-glm52-marlin" in coloured
    assert "\x1b[31m1 refused\x1b[0m" in coloured


def test_human_says_when_there_is_nothing() -> None:
    assert HUMAN.standings([]) == "no standings\n"
    assert HUMAN.findings([]) == ""
    assert HUMAN.bindings(Bindings(("X",), ())) == "no rows\n"
    assert HUMAN.bindings(Bindings((), ((),))) == "holds\n"
    assert HUMAN.bindings(Bindings((), ())) == "does not hold\n"


def test_human_falls_back_to_the_names_where_there_are_no_words() -> None:
    bare = standing(
        "split",
        {"arm": "a"},
        StandingClass.REFUSED,
        "aliased",
        reasons=(Term("differs", (("field", "capacity"),)),),
    )
    assert "refused        a    aliased; differs(capacity)\n" in HUMAN.standings([bare])


def test_human_shows_a_value_unless_the_words_do() -> None:
    def line(words: str, *counts: int) -> str:
        values = tuple((f"v{i}", Quantity(Fraction(n), COUNT)) for i, n in enumerate(counts))
        shown = standing("law", {"s": "a"}, StandingClass.ESTABLISHED, "v", words, values=values)
        return HUMAN.standings([shown]).splitlines()[1].partition("    ")[2]

    assert line("1 copy", 1).endswith("1 copy")
    assert line("10 copies", 1).endswith("10 copies; v0 1")
    assert line("0.1 copies", 1).endswith("0.1 copies; v0 1")
    assert line("1.5 copies", 1).endswith("1.5 copies; v0 1")
    assert line("ends in 1.", 1).endswith("ends in 1.")
    assert line("1 copy", 1, 1).endswith("1 copy; v1 1")


def test_human_long_subjects_do_not_push_the_others() -> None:
    long = standing("law", {"s": "x" * 60}, StandingClass.ESTABLISHED, "v", "long")
    short = standing("law", {"s": "y"}, StandingClass.ESTABLISHED, "v", "short")
    lines = HUMAN.standings([long, short]).splitlines()
    assert lines[1].endswith("x    long")
    assert lines[2] == "  established    y" + " " * 43 + "short"


def test_human_findings() -> None:
    assert HUMAN.findings(FINDINGS) == golden(
        """
        error[unknown-column]: table `integrated_system` has no column `capasity`
          facts/systems/nvidia.yaml:14:5
          rules/tables/systems.yaml:9:3  declares its columns
          help: a similar column is `capacity`

        error[no-facts]: there is no fact in `facts`

        warning[unread-table]: no rule reads table `tier`
          rules/tables/plan.yaml:3:3

        2 errors, 1 warning
        """
    )


def test_human_findings_in_colour() -> None:
    text = FORMATS["human"](View(colour=True)).findings(FINDINGS[:1])
    assert text.startswith("\x1b[31merror[unknown-column]\x1b[0m: table")
    assert text.endswith("\n1 error\n")


def test_human_bindings() -> None:
    assert HUMAN.bindings(BINDINGS) == golden(
        """
        System  Capacity    Gpus
        gb10    128 GiB     1
        thor 2  341.33 MiB  0
        2 rows
        """
    )


def test_concise() -> None:
    assert CONCISE.standings(STANDINGS) == golden(
        """
        weight_offload_split gh200-glm52-triton established uva_zero_copy_view
        weight_offload_split gh200-glm52 unestablished unestablished read(uva_available);read(moe_backend)
        weight_offload_split gh200-glm52-marlin refused refused relayout_backend(MARLIN)
        node_memory spark established established
        component_identity gh200/coherent_link refused aliased differs(addressability, (across_link(450000000000 bytes_per_second), true, 1073741824/3 bytes))
        """  # noqa: E501 (a golden line is as long as it is)
    )
    assert CONCISE.findings(FINDINGS) == golden(
        """
        facts/systems/nvidia.yaml:14:5: error[unknown-column]: table `integrated_system` has no column `capasity`
        error[no-facts]: there is no fact in `facts`
        rules/tables/plan.yaml:3:3: warning[unread-table]: no rule reads table `tier`
        """  # noqa: E501
    )
    assert CONCISE.bindings(BINDINGS) == golden(
        """
        System=gb10 Capacity="137438953472 bytes" Gpus=1
        System="thor 2" Capacity="1073741824/3 bytes" Gpus=0
        """
    )
    assert CONCISE.standings([]) == CONCISE.findings([]) == ""


def test_json_standings() -> None:
    assert json.loads(JSON.standings([MARLIN, HOST, ALIASED])) == {
        "schema": "ullage/standings/1",
        "standings": [
            {
                "law": "weight_offload_split",
                "subject": {"arm": "gh200-glm52-marlin"},
                "standing": "refused",
                "verdict": "refused",
                "reasons": [{"reason": "relayout_backend", "args": {"backend": "MARLIN"}}],
                "obligations": [],
                "waived": False,
                "waivers": [],
                "values": {},
            },
            {
                "law": "node_memory",
                "subject": {"host": "spark"},
                "standing": "established",
                "verdict": "established",
                "reasons": [],
                "obligations": [],
                "waived": False,
                "waivers": [],
                "values": {
                    "physical_usable": {
                        "value": "137438953472",
                        "unit": "bytes",
                        "display": "128 GiB",
                    },
                    "reserve": {
                        "value": "27487790694.4",
                        "unit": "bytes",
                        "display": "25.60 GiB",
                    },
                },
            },
            {
                "law": "component_identity",
                "subject": {"system": "gh200", "reach": "coherent_link"},
                "standing": "refused",
                "verdict": "aliased",
                "reasons": [
                    {
                        "reason": "differs",
                        "args": {
                            "field": "addressability",
                            "claims": [
                                {
                                    "name": "across_link",
                                    "args": {
                                        "per_direction": {
                                            "value": "450000000000",
                                            "unit": "bytes_per_second",
                                            "display": "450 GB/s",
                                        }
                                    },
                                },
                                True,
                                {
                                    "value": "1073741824/3",
                                    "unit": "bytes",
                                    "display": "341.33 MiB",
                                },
                            ],
                        },
                    }
                ],
                "obligations": [],
                "waived": False,
                "waivers": [],
                "values": {},
            },
        ],
    }


def test_json_layout_is_one_element_a_line() -> None:
    assert JSON.standings([TRITON]) == golden(
        """
        {"schema": "ullage/standings/1",
         "standings": [
          {"law": "weight_offload_split", "subject": {"arm": "gh200-glm52-triton"}, \
"standing": "established", "verdict": "uva_zero_copy_view", "reasons": [], "obligations": [], \
"waived": false, "waivers": [], \
"values": {"device_copies": {"value": "0", "unit": "count", "display": "0"}}}
         ]}
        """
    )
    assert JSON.standings([]) == '{"schema": "ullage/standings/1",\n "standings": []}\n'
    assert len(JSON.findings(FINDINGS).splitlines()) == len(FINDINGS) + 3


def test_json_findings_and_bindings() -> None:
    assert json.loads(JSON.findings(FINDINGS[:1]))["findings"] == [
        {
            "code": "unknown-column",
            "severity": "error",
            "message": "table `integrated_system` has no column `capasity`",
            "positions": [
                {"file": "facts/systems/nvidia.yaml", "line": 14, "column": 5, "note": ""},
                {
                    "file": "rules/tables/systems.yaml",
                    "line": 9,
                    "column": 3,
                    "note": "declares its columns",
                },
            ],
            "help": "a similar column is `capacity`",
        }
    ]
    answer = json.loads(JSON.bindings(BINDINGS))
    assert answer["variables"] == ["System", "Capacity", "Gpus"]
    assert answer["rows"][1] == {
        "System": "thor 2",
        "Capacity": {"value": "1073741824/3", "unit": "bytes", "display": "341.33 MiB"},
        "Gpus": {"value": "0", "unit": "count", "display": "0"},
    }


@given(st.text(), st.text())
def test_no_name_or_message_forges_a_line(name: str, message: str) -> None:
    subject = standing("law", {"s": name}, StandingClass.ESTABLISHED, "v", message)
    finding = Finding("some-code", message, (Position(name, 1, 1, message),), message)
    assert len(HUMAN.standings([subject]).splitlines()) == 2
    assert len(CONCISE.standings([subject]).splitlines()) == 1
    assert len(HUMAN.findings([finding]).splitlines()) == (5 if message else 4)
    assert len(CONCISE.findings([finding]).splitlines()) == 1
    assert json.loads(JSON.standings([subject]))["standings"][0]["subject"]["s"] == name


@given(st.text())
def test_fields_split_at_spaces(text: str) -> None:
    assert "\x1b" not in one_line(text)
    if field(text) == one_line(text):
        assert field(text).split(" ") == [field(text)]
    else:
        assert field(text)[0] == field(text)[-1] == '"'


@given(st.fractions(min_value=-(10**18), max_value=10**18))
def test_json_figures_are_exact(value: Fraction) -> None:
    subject = standing(
        "law", {"s": "a"}, StandingClass.ESTABLISHED, "v", values=(("x", Quantity(value, BYTES)),)
    )
    read = json.loads(JSON.standings([subject]))["standings"][0]["values"]["x"]["value"]
    assert Fraction(read) == value


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("terminal", "environ", "coloured"),
    [
        (True, {}, True),
        (True, {"TERM": "dumb"}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (False, {}, False),
        (False, {"FORCE_COLOR": "1"}, True),
        (True, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_when_to_colour(terminal: bool, environ: dict[str, str], coloured: bool) -> None:
    assert wants_colour(Terminal() if terminal else io.StringIO(), environ) is coloured
    assert not wants_colour(None, {})


def test_which_characters_a_stream_has() -> None:
    assert encodes("·", io.TextIOWrapper(io.BytesIO(), encoding="latin-1"))
    assert not encodes("…", io.TextIOWrapper(io.BytesIO(), encoding="latin-1"))
    assert not encodes("·", None)
    assert encodes("plain", sys.stdout)


PLANS_SHOWN = golden(
    """
    what if  --floor  policy standard floor  25.60 GiB → 128 GiB
    what if  --size   size 80 GiB size       (not there) → 128 GiB

    room  spark  of spark, one_pool, ?
      established
      usable     128 GiB     137438953472 bytes
      kept free  25.60 GiB   27487790694.4 bytes
      third      341.33 MiB  1073741824/3 bytes
      latency    0.08 ms     0.0786432 milliseconds
      it fits    yes
      kept free of usable  ██████░░░░░░░░░░░░░░░░░░░░░░░░

      node  usable                          spare  usable of usable
      a     341.33 MiB  1073741824/3 bytes  ?
      b        128 GiB  137438953472 bytes  0      ██████████████████████████████

    sizes  12  a size
    """
)


def test_human_plans() -> None:
    assert HUMAN.plans(PLANS) == PLANS_SHOWN
    plain = PLANS_SHOWN.translate({ord("█"): "#", ord("░"): ".", ord("→"): "->"})
    assert FORMATS["human"](View(unicode=False)).plans(PLANS) == plain
    assert plain.isascii()
    assert HUMAN.plans(Plans(())) == "no plans\n"


def test_human_plans_with_colours() -> None:
    painted = FORMATS["human"](View(colour=True)).plans(PLANS)
    assert (
        "\x1b[1mroom  spark  of spark, one_pool, ?\x1b[0m\n  \x1b[32mestablished\x1b[0m" in painted
    )
    assert re.sub(r"\x1b\[\d*m", "", painted) == PLANS_SHOWN


def test_concise_plans() -> None:
    assert CONCISE.plans(PLANS) == golden(
        """
        what-if policy standard floor="137438953472 bytes"
        what-if size "80 GiB" size="137438953472 bytes"
        room spark usable="137438953472 bytes" reserve="27487790694.4 bytes" third="1073741824/3 \
bytes" latency="0.0786432 milliseconds" fits=true kind=one_pool | node_memory spark established \
established
        nodes spark/b usable="137438953472 bytes" spare=0
        nodes spark/a usable="1073741824/3 bytes"
        sizes 12
        """
    )
    assert CONCISE.plans(Plans(())) == ""


def test_human_moves() -> None:
    assert HUMAN.moves(MOVES) == golden(
        r"""
        host/a/1 and 1 more: a row  (facts/more.yaml:2:5)
        tier/x\ny: a row  (facts/more.yaml:2:5 instead of facts/tiers.yaml:7:5)
        policy/standard/floor: 25.60 GiB → 128 GiB  (facts/more.yaml:2:5)
        arm/b/tags: (p, q r) → (not there)  (facts/more.yaml:2:5)
        arm/c/kept: true, as it is  (rules/t.yaml:3:1, the default)

        fit
          established → refused  x
              was  fits, with 25.60 GiB left
              now  it is short on host link
              headroom  27487790694.4 bytes → 27487790693.4 bytes  (-1 B)
              link      450 GB/s → ?
          refused → (not there)  y z
              was  cut

        weight_offload_split
          refused → established  gh200-glm52-triton
              was  backend MARLIN allocates new weights and scales
              now  zero-copy UVA view, 0 device copies
              device_copies  ? → 0

        plan room
          a
              usable  128 GiB → 341.33 MiB  (-127.67 GiB)
              fits    true → false
              kind    ? → one
          b  (new)
          c  (gone)

        1 standing stays as it is
        """
    )
    plain = FORMATS["human"](View(unicode=False)).moves(MOVES)
    assert plain == HUMAN.moves(MOVES).replace("→", "->")
    assert plain.isascii()
    painted = FORMATS["human"](View(colour=True)).moves(MOVES)
    assert "\x1b[32mestablished\x1b[0m → \x1b[31mrefused\x1b[0m" in painted
    assert re.sub(r"\x1b\[\d+m", "", painted) == HUMAN.moves(MOVES)


def test_human_moves_say_so_where_nothing_does() -> None:
    same = tuple(c for c in MOVES.supposed if isinstance(c, SupposedCell) and c.same)
    assert HUMAN.moves(Moves(same, (), (), 3)).endswith(
        "\n\nnothing moves: the facts are what is supposed\n3 standings stay as they are\n"
    )
    assert HUMAN.moves(Moves(MOVES.supposed, (), (), 0)).endswith(
        "\n\nnothing moves\n0 standings stay as they are\n"
    )


def test_refusals_that_end_stand_first() -> None:
    refused, open_, established = MARLIN, UNREAD, TRITON
    pairs = [
        (established, refused),
        (None, established),
        (open_, established),
        (refused, established),
        (refused, open_),
        (established, None),
    ]
    text = HUMAN.moves(Moves((), tuple(Moved(*pair) for pair in pairs), (), 0))
    assert re.findall(r"^  (\S.*) → (\S+| ?\(not there\))  ", text, re.M) == [
        ("refused", "established"),
        ("unestablished", "established"),
        ("refused", "unestablished"),
        ("established", "refused"),
        ("(not there)", "established"),
        ("established", "(not there)"),
    ]


def test_concise_moves() -> None:
    assert CONCISE.moves(MOVES) == golden(
        r"""
        what-if host a/1
        what-if host a/2
        what-if tier "x\ny"
        what-if policy standard floor="27487790694.4 bytes"->"137438953472 bytes"
        what-if arm b tags="(p, q r)"->
        what-if arm c kept=true->true
        standing fit x established->refused fits->refused +"short(host link)" HEADROOM LINK
        standing fit "y z" refused-> refused-> -cut
        standing weight_offload_split gh200-glm52-triton refused->established RELAYOUT
        plan room a usable="137438953472 bytes"->"1073741824/3 bytes" fits=true->false kind=->one
        plan room b
        plan room c
        """
    ).replace("HEADROOM", 'headroom="27487790694.4 bytes"->"27487790693.4 bytes"').replace(
        "LINK", 'link="450000000000 bytes_per_second"->'
    ).replace("RELAYOUT", "refused->uva_zero_copy_view -relayout_backend(MARLIN) device_copies=->0")
    assert CONCISE.moves(Moves((), (), (), 3)) == ""


def test_json_plans_are_a_line_each() -> None:
    text = JSON.plans(PLANS)
    document = json.loads(text)
    assert [p["plan"] for p in document["plans"]] == ["room", "nodes", "nodes", "sizes"]
    assert document["plans"][0]["judged"]["law"] == "node_memory"
    assert document["plans"][0]["values"]["fits"] is True
    assert [a["old"] and a["old"]["value"] for a in document["what_if"]] == ["27487790694.4", None]
    assert text.count("\n") == 7


def test_what_a_plan_names_stays_on_its_line() -> None:
    evil = "a\x1b[31m\nplan"
    layout = PlanLayout("{host}: {kind}", {"kind": "", "more": ""})
    plan = Plan("room", (("host", evil),), (("kind", evil), ("more", evil)))
    table = PlanLayout("t", {"more": ""}, rows="host", columns=("more",))
    for shape in (layout, table):
        assumed = Assumption("x", "host", evil, "kind", evil, evil)
        text = HUMAN.plans(Plans((plan,), (assumed,), {"room": shape}))
        assert "\x1b" not in text
        assert all(line.startswith(("what if", "room", " ", "")) for line in text.splitlines())
        assert "\nplan" not in text


@pytest.mark.parametrize(
    ("parts", "whole", "bar"),
    [
        ((50, 25), 100, "#" * 15 + "=" * 7 + "." * 8),
        ((0, 0), 100, "." * 30),
        ((50, 50), 100, "#" * 15 + "=" * 15),
        # A byte over shows, and so does what is over by far.
        ((100, 1), 100, "#" * 29 + "!"),
        ((1000, 0), 1, "!" * 30),
        ((1000000, 1), 1000000, "#" * 29 + "!"),
    ],
)
def test_a_bar_is_full_only_where_its_parts_are_the_whole(
    parts: tuple[int, int], whole: int, bar: str
) -> None:
    values = {"a": parts[0], "b": parts[1], "whole": whole}
    layout = PlanLayout("t", dict.fromkeys(values, ""), bar=Bar(("a", "b"), "whole"), note="a note")
    told = tuple((n, Quantity(Fraction(v), BYTES)) for n, v in values.items())
    plan = Plan("room", (("host", "x"),), told)
    text = FORMATS["human"](View(unicode=False)).plans(Plans((plan,), (), {"room": layout}))
    assert f"  # a, = b of whole  {bar}\n\n  a note\n" in text
