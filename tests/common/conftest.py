"""How hypothesis runs: with the same examples every time.

`CROUPIER_HYPOTHESIS=wide` hunts: many examples, other ones each time.
"""

import os

from hypothesis import settings

settings.register_profile("same", deadline=None, derandomize=True, max_examples=40)
settings.register_profile("wide", deadline=None, max_examples=2000, print_blob=True)
settings.load_profile(os.environ.get("CROUPIER_HYPOTHESIS", "same"))
