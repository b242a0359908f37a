"""Rules that conclude anew only where facts moved, beside the model of the facts as they were.

A policy is solved once. A change of facts is then ground as one more part of the same program, a
*world* W, and costs what it moves. For each predicate `p` that the change can reach:

    p''gone(W, …)  what held, and holds no more    p''come(W, …)   what did not hold, and holds
    p''now(W, …)   what holds in the region        p''moved(W, …)  either of the first two
    _region''n(W, Key…)   the keys of `p` of which an instance of a rule may have moved

A key is some arguments of `p`. An instance that holds in one of two worlds alone has a body atom
that holds in one of them alone; so the keys to which moved atoms lead, through atoms that hold in
either world, are all of the region. There every rule of `p` is asked again, over *views*: what held
of an atom without what is gone of it, and what has come. What is outside the region is as it was.

    _region''1(W, Job) :- machine''moved(W, Machine, memory, _), job(Job, machine, Machine).
    _view''2(W, M, memory, B) :- …, machine(M, memory, B), not machine''gone(W, M, memory, B).
    _view''2(W, M, memory, B) :- …, machine''come(W, M, memory, B).
    fits''now(W, Job) :- _region''1(W, Job), job(Job, machine, M), _view''2(W, M, memory, B), ….
    fits''gone(W, Job) :- _region''1(W, Job), fits(Job), not fits''now(W, Job).

A view to which the region leads through other atoms only has the region's key in it, too; and what
leads through several goes from relation to relation (``lines``), so that no order of joining is
bad. Predicates that build on themselves have a key that stays the same on the way, or none: then
they are concluded anew as a whole.

Of *lazy* nodes not even what held is concluded of all facts, but once for each key that is asked
for: of the subjects that may have moved, and of what these rest on (``lazy``).

The rules that conclude are lowered like all others, for only they compute; the rest is text.
"""

from ullage.rules.delta.nodes import (
    THIS,
    WORLD,
    cell_node,
    come,
    gone,
    named,
    needed,
    of_a_world,
    reached,
)
from ullage.rules.delta.writer import Delta, after, before, delta, nodes_of

__all__ = [
    "THIS",
    "WORLD",
    "Delta",
    "after",
    "before",
    "cell_node",
    "come",
    "delta",
    "gone",
    "named",
    "needed",
    "nodes_of",
    "of_a_world",
    "reached",
]
