"""Settings for every test: hypothesis repeats the same examples and never judges a noisy machine's clock."""

from functools import cache

import pytest
import typer.main
import typer.testing
from hypothesis import settings

from tests.report.browser import ABSENT, installed, launched

settings.register_profile("fedrcd", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("fedrcd")

# Every command that a test types would build all commands anew, which takes longer than most of them run.
typer.testing._get_command = typer.main.get_command = cache(typer.main.get_command)

WAITING = ("test_machines.py", "test_page_in_browser.py")
"""Files that mostly wait for other processes: started first, they do not keep everybody waiting at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in WAITING)


@pytest.fixture(scope="session")
def chromium():
    """A browser in a process of its own; one for all pages, for Playwright runs once in a process."""
    executable = installed()
    if executable is None:
        pytest.skip(ABSENT)
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install .[browser]")
    with launched(executable) as browser:
        yield browser
