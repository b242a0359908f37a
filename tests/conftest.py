"""Settings for all tests: the same examples in every run, or fresh ones where they are asked for.

``HYPOTHESIS_PROFILE=search pytest`` looks for new examples; what it finds becomes a test.
"""

import os

import pytest
from hypothesis import settings

settings.register_profile("steady", derandomize=True, database=None, deadline=None)
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--update-golden`` writes the golden files anew, to be read before they are kept."""
    parser.addoption("--update-golden", action="store_true", help="write golden files anew")
