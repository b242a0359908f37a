"""Settings for all tests: the same examples in every run, or fresh ones where they are asked for.

``HYPOTHESIS_PROFILE=search pytest`` looks for new examples; what it finds becomes a test.
"""

import os

from hypothesis import settings

settings.register_profile("steady", derandomize=True, database=None, deadline=None)
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
