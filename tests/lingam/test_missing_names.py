"""Names of `lingam` that are not here say why."""

import importlib
import re

import pytest

from fedrcd import lingam


@pytest.mark.parametrize("name", sorted(lingam.ABSENT))
def test_a_missing_name_says_why_and_where_to_look(name):
    with pytest.raises(ImportError, match=f"^fedrcd.lingam has no {name}: it ") as raised:
        getattr(lingam, name)
    for named in re.findall(r"fedrcd\.(\w+)\(", str(raised.value)):
        assert callable(getattr(importlib.import_module("fedrcd"), named))


def test_an_import_says_it_too():
    with pytest.raises(ImportError, match="fits nonlinear functions"):
        from fedrcd.lingam import RESIT  # noqa: F401


def test_other_names_are_missing_as_ever():
    with pytest.raises(AttributeError, match="has no attribute 'DirectLingam'"):
        lingam.DirectLingam  # noqa: B018
    assert not hasattr(lingam, "__wrapped__")


@pytest.mark.reference
def test_every_name_of_the_package_is_here_or_says_why():
    theirs = pytest.importorskip("lingam")
    assert set(theirs.__all__) == set(lingam.ABSENT) | (set(lingam.__all__) & set(theirs.__all__))
