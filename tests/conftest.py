"""Settings for every test: hypothesis repeats the same examples and never judges a noisy machine's clock."""

from hypothesis import settings

settings.register_profile("fedrcd", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("fedrcd")
