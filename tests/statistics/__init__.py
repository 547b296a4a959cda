"""Tests of `fedrcd.statistics`; always `tests.statistics`, never the library's."""  # noqa: A005
