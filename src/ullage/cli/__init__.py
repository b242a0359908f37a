"""The command line: one thin file a verb, over the Python API and a format."""

from ullage.cli.app import main

__all__ = ["main"]
