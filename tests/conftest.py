"""Settings of the whole test run."""

from hypothesis import settings

settings.register_profile("oneiros", deadline=None)  # a busy machine is no failure
settings.load_profile("oneiros")
