"""A refusal as people should meet it: one line, with what helps, and with no value of the rows."""

import pytest

PLANTED = "876543.25"
"""A value in the rows of tests that no message may show."""


def refused(call, kind, *words):
    with pytest.raises(kind) as refusal:
        call()
    message = str(refusal.value)
    assert "\n" not in message
    assert PLANTED not in message
    for word in words:
        assert word in message
    return message
