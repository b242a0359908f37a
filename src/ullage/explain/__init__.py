"""Derivations: why something holds, and why not, found after the solve."""
