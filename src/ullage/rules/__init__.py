"""The rule language: read, declare, sort, check, lower.

Data flows one way through this package: ``syntax`` (text to terms), ``docstrings`` (declared
predicates and laws), ``inference`` (a sort for every variable), ``graph`` (strata, constructors,
growth), ``slots`` (which decimals a value can have), ``lower`` (plain clingo), ``numbers`` (exact
numbers as clingo terms).
"""
