"""The rule language by its definition: read, evaluated and checked without clingo."""
