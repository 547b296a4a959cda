"""Fixtures of all tests of sources."""

from tests.postgres import server  # noqa: F401 - a fixture
