"""The rule language: read, declare, sort, check, lower.

Data flows one way through this package: ``syntax`` and ``reader`` (text to ``terms``),
``docstrings`` and ``vocabulary`` (what is declared), ``inference`` (a sort for every variable),
``graph`` and ``recursion`` (what rules build on one another), all bound into a ``book``; then
``lowering`` (plain clingo), with ``numbers`` and ``encode`` (figures and facts as its terms).
"""
