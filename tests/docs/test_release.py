"""Version, changelog and citation move together."""

import datetime

import pytest
from tools.release import CHANGELOG, PLACES, ROOT, released, versions

TEXTS = {name: (ROOT / name).read_text(encoding="utf-8") for name in (*PLACES, CHANGELOG)}
DAY = datetime.date(2027, 1, 2)


def test_all_files_name_one_version_now():
    assert len(set(versions(TEXTS).values())) == 1


def test_a_release_moves_them_all_and_nothing_else():
    made = released(TEXTS, "9.0.1", DAY)
    assert set(versions(made).values()) == {"9.0.1"}
    assert "## Unreleased\n\n## 9.0.1 (2027-01-02)\n\n### Added" in made[CHANGELOG]
    assert "version: 9.0.1\ndate-released: 2027-01-02\n" in made["CITATION.cff"]
    for name in PLACES:
        changed = set(made[name].splitlines()) ^ set(TEXTS[name].splitlines())
        assert len(changed) == (3 if name == "CITATION.cff" else 2)
    again = released({**made, CHANGELOG: made[CHANGELOG].replace("## 9.0.1", "- more\n\n## 9.0.1")}, "9.0.2", DAY)
    assert again["CITATION.cff"].count("date-released") == 1


@pytest.mark.parametrize(
    ("version", "reason"),
    [("9.0", "three numbers"), ("v9.0.0", "three numbers"), ("0.0.1", "older than"), ("0.1.0rc1", "older than")],
)
def test_a_version_that_cannot_follow_is_refused(version, reason):
    with pytest.raises(ValueError, match=reason):
        released(TEXTS, version, DAY)


def test_a_release_without_changes_or_twice_is_refused():
    made = released(TEXTS, "9.0.1", DAY)
    with pytest.raises(ValueError, match=r"has 9\.0\.1 already"):
        released(made, "9.0.1", DAY)
    with pytest.raises(ValueError, match="has nothing under"):
        released(made, "9.0.2", DAY)


def test_files_that_disagree_are_refused():
    with pytest.raises(ValueError, match="different versions"):
        released(TEXTS | {"CITATION.cff": "version: 0.0.9\n"}, "9.0.0", DAY)
