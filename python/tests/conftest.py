"""Settings of the tests: what hypothesis draws is the same on every run, and little of it."""

from hypothesis import HealthCheck, settings

settings.register_profile("quick", max_examples=60, deadline=None, derandomize=True, database=None,
                          suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("long", max_examples=1000, deadline=None)
settings.load_profile("quick")
