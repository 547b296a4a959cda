"""Certificates say what was erased, which results came from the old state, and that nobody changed them since."""

import json
from html.parser import HTMLParser

import pytest

from fedrcd.errors import ConfigError, FileError, ProtocolError
from fedrcd.federation.ledger.certificate import as_json, as_page, certify, require_genuine
from fedrcd.federation.ledger.ledger import Ledger
from tests.federation.living import TRIAL, configured, contribution, federation_of, put, sample

FEDERATION = federation_of(3, ("a", "<b>"))
CONFIGURATION = configured(FEDERATION, families=("pairs/4",))


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    with Ledger.create(
        tmp_path_factory.mktemp("certificate") / "ledger.db", CONFIGURATION, {**TRIAL, "<b>": ""}
    ) as ledger:
        ledger.record_result("fedrcd-ni", {}, "before anybody")
        put(ledger, contribution(CONFIGURATION, FEDERATION, "a", sample(3, 80)))
        ledger.record_result("fedrcd-ni", {}, "without b")
        put(ledger, contribution(CONFIGURATION, FEDERATION, "<b>", sample(3, 90)))
        ledger.record_result("fedrcd-sp", {"weights": "bic"}, "with both")
        put(ledger, contribution(CONFIGURATION, FEDERATION, "<b>", sample(3, 89), version=2, purpose="erase"))
        ledger.record_result("fedrcd-ni", {}, "after the row left")
        ledger.leave("<b>")
        ledger.record_result("fedrcd-ni", {}, "after b left")
        yield ledger


def test_it_tells_what_was_replaced_and_lists_results_of_states_that_held_it(ledger):
    certificate = certify(ledger, 7)
    assert (certificate["rows_before"], certificate["rows_after"]) == (90, 89)
    assert (certificate["former_version"], certificate["present_version"]) == (1, 2)
    assert [one["number"] for one in certificate["results_from_earlier_states"]] == [6]
    assert certificate["state_before"] == ledger.entries[5].state
    assert certificate["state_after"] == ledger.entries[6].state
    require_genuine(certificate)


def test_a_site_that_leaves_is_certified_with_all_it_was_in(ledger):
    certificate = certify(ledger, 9)
    assert [one["number"] for one in certificate["results_from_earlier_states"]] == [6, 8]
    assert (certificate["rows_after"], certificate["present_version"]) == (0, None)


@pytest.mark.parametrize("number", [1, 2, 3, 0, 99])
def test_what_is_no_erasure_is_not_certified(ledger, number):
    with pytest.raises(ConfigError, match="entry"):
        certify(ledger, number)


def test_any_change_is_seen(ledger):
    text = as_json(certify(ledger, 7))
    require_genuine(json.loads(text))
    for old, new in (
        ('"rows_after": 89', '"rows_after": 88'),
        ("never took part", "took part"),
        ('"site": "', '"site": "x'),
    ):
        with pytest.raises(ProtocolError, match="changed"):
            require_genuine(json.loads(text.replace(old, new, 1)))
    with pytest.raises(FileError):
        require_genuine({"format": "something else"})


class Text(HTMLParser):
    """The words of a page, and what it would load."""

    def __init__(self):
        super().__init__()
        self.words, self.loads = [], []

    def handle_data(self, data):
        self.words.append(data)

    def handle_starttag(self, tag, attrs):  # noqa: ARG002
        self.loads += [value for name, value in attrs if name in ("src", "href")]


def test_the_page_holds_the_facts_and_loads_nothing(ledger):
    certificate = certify(ledger, 7)
    page = Text()
    page.feed(as_page(certificate))
    words = " ".join(page.words)
    assert page.loads == []
    for fact in ("<b>", "90 and 89", certificate["state_after"], certificate["signature"], "fedrcd-sp", "Checked by"):
        assert fact in words
    assert "<b>" not in as_page(certificate)
