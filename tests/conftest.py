"""Settings for all tests: the same examples in every run, or fresh ones where they are asked for.

``HYPOTHESIS_PROFILE=search pytest`` looks for new examples; what it finds becomes a test.
"""

import functools
import os

import pytest
from hypothesis import settings

from ullage import progress

settings.register_profile("steady", derandomize=True, database=None, deadline=None)
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--update-golden`` writes the golden files anew, to be read before they are kept."""
    parser.addoption("--update-golden", action="store_true", help="write golden files anew")


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that a loaded machine makes slow shows no progress, which no test is about."""
    patient = functools.partial(progress.shown, quiet_seconds=600.0)
    monkeypatch.setattr(progress, "shown", patient)
