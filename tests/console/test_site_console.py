"""What the people of a site see and decide on their page, over HTTP."""

import csv
import io

import pytest

from fedrcd.console.site.rules_in_words import WORDS
from fedrcd.federation.messages.refusals import Refusal
from fedrcd.federation.site.disclosure import RULES
from tests.console.places import Hospital


@pytest.fixture(scope="module")
def called(tmp_path_factory):
    """A site that was asked once, and its console."""
    hospital = Hospital(tmp_path_factory.mktemp("hospital"))
    with hospital.console() as client:
        hospital.call()
        assert hospital.ask() is Refusal.WAITING
        yield hospital, client


@pytest.fixture
def asked(tmp_path):
    hospital = Hospital(tmp_path)
    hospital.call()
    assert hospital.ask() is Refusal.WAITING
    with hospital.console() as client:
        yield hospital, client


def digest_of(hospital):
    with hospital.service.store() as store:
        return store.approvals.waiting()[0].digest


def test_the_inbox_says_what_is_asked_for_what_and_what_it_costs(called):
    _, client = called
    said = client.text("/")
    for words in (
        "1 answer waits for you",
        "Kidney function",
        "Study 7, approved by the board",
        "every pair of 3 variables",
        "numbers about 400 rows",
        "the same as fedrcd-ni asks first, worked out here",
        "of 600 that may ever leave",
        "no level, or pair of levels",
        "method fedrcd-ni",
    ):
        assert words in said


def test_an_answer_that_is_approved_on_the_page_leaves_and_the_log_says_who(asked):
    hospital, client = asked
    assert client.post("/decide", digest=digest_of(hospital), decision="approve").status_code == 303
    assert "approved: the row count" in client.text("/")
    assert hospital.ask() is None
    [decided] = [one for one in hospital.logged() if one.outcome == "decided"]
    [answered] = [one for one in hospital.logged() if one.outcome == "answered"]
    assert decided.who == answered.who == "Ada (administer)"


def test_a_page_that_only_looks_for_news_takes_no_message_away(asked):
    hospital, client = asked
    client.post("/decide", digest=digest_of(hospital), decision="approve")
    client.get("/", headers={"fedrcd-update": "yes"})
    assert "approved: the row count" in client.text("/")
    assert client.get("/").text.count("approved: the row count") == 0


def test_a_refusal_needs_a_reason_which_stays_here(asked):
    hospital, client = asked
    answer = client.post("/decide", digest=digest_of(hospital), decision="refuse", reason=" ")
    assert answer.status_code == 409
    assert hospital.ask() is Refusal.WAITING
    client.post("/decide", digest=digest_of(hospital), decision="refuse", reason="not this study")
    assert hospital.ask() is Refusal.APPROVAL
    assert [one.detail for one in hospital.logged() if one.outcome == "decided"] == ["not this study"]


def test_the_rest_of_a_run_is_approved_as_long_as_it_asks_what_its_method_asks(asked):
    hospital, client = asked
    client.post("/decide", digest=digest_of(hospital), decision="rest")
    assert hospital.ask() is None
    assert hospital.ask(order=3) is Refusal.WAITING  # not what fedrcd-ni asks
    assert "NOT what fedrcd-ni asks first" in client.text("/")
    hospital.call(run="r2.0")
    assert hospital.ask(run="r2.0") is Refusal.WAITING  # another run


def test_what_is_allowed_in_advance_is_not_asked_about_and_no_more_than_that(asked):
    hospital, client = asked
    purpose = "Study 7, approved by the board"
    assert client.post("/allow", method="fedrcd-ni", purpose=purpose).status_code == 303
    assert hospital.ask() is None
    assert [one.who for one in hospital.logged() if one.outcome == "answered"] == [
        f"Ada (administer), in advance: fedrcd-ni for {purpose!r}"
    ]
    hospital.call(run="r2.0", purpose="something else")
    assert hospital.ask(run="r2.0") is Refusal.WAITING
    client.post("/allow", method="fedrcd-ni", purpose=purpose, withdraw="yes")
    hospital.call(run="r3.0")
    assert hospital.ask(run="r3.0") is Refusal.WAITING


def test_a_run_without_a_roll_call_is_shown_as_what_it_is(tmp_path):
    hospital = Hospital(tmp_path)
    assert hospital.ask() is Refusal.WAITING
    with hospital.console() as client:
        said = client.text("/")
    assert "no roll call told of this run" in said
    assert "Approve the rest" not in said


def test_the_log_is_verified_searched_and_saved_as_a_table(called):
    hospital, client = called
    assert "verified" in client.text("/log")
    assert "1 of" in client.text("/log?q=kidney")
    assert "0 of" in client.text("/log?q=nobody+said+this")
    rows = list(csv.DictReader(io.StringIO(client.get("/log.csv").text)))
    assert [row["question"] for row in rows][: len(rows)] == [one.question for one in hospital.logged()]
    assert rows[0]["purpose"] == "Study 7, approved by the board"


def test_a_cell_of_the_saved_log_is_no_formula(tmp_path):
    hospital = Hospital(tmp_path)
    hospital.call(title="=cmd|'/c calc'!A0")
    with hospital.console() as client:
        rows = list(csv.DictReader(io.StringIO(client.get("/log.csv").text)))
    assert {row["title"] for row in rows} == {"'=cmd|'/c calc'!A0"}


def test_the_budget_says_what_is_left_and_what_each_method_costs(called):
    _, client = called
    said = client.text("/budget")
    assert "0 of 600 numbers about 400 rows" in said
    assert "fedrcd-ni" in said
    assert "fed-direct" in said


def test_more_is_allowed_with_a_reason_and_a_name(asked):
    hospital, client = asked
    client.post("/decide", digest=digest_of(hospital), decision="approve")
    assert hospital.ask() is None
    assert client.post("/budget/renew", block="hospital-a", numbers="100", reason="").status_code == 409
    assert client.post("/budget/renew", block="hospital-a", numbers="100", reason="second study").status_code == 303
    assert "700" in client.text("/budget")
    assert "Ada (administer): second study" in [one.detail for one in hospital.logged()]


def test_the_table_at_a_glance_is_what_check_sees(called):
    _, client = called
    said = client.text("/table")
    assert "400 rows, with identifiers" in said
    assert "3 columns and 1 block as the federation says" in said


def test_runs_are_listed_with_what_they_were_for(called):
    _, client = called
    said = client.text("/runs")
    assert "Kidney function" in said
    assert "Study 7" in said
    assert client.get("/runs/none").status_code == 409


def test_a_store_that_is_in_use_is_said_and_waited_for(called, monkeypatch):
    hospital, client = called
    monkeypatch.setattr("fedrcd.console.site.place.PATIENCE", 0.1)
    with hospital.service.store():
        # the console runs in this process, but opens the file as any other would
        answer = client.get("/log")
    assert answer.status_code == 503
    assert "just now answering" in answer.text


def test_whoever_looks_for_long_keeps_nobody_from_answering(tmp_path):
    hospital = Hospital(tmp_path, approve=False)
    hospital.call()
    with hospital.place.copy() as (door, tables):
        assert hospital.ask() is None  # the store is free
        assert tables
        assert [one.outcome for one in door.store.entries()] == ["roll call"]  # as it was


def test_every_rule_of_disclosure_has_words_for_people():
    assert set(WORDS) == set(RULES)


def test_a_site_that_answers_with_noise_says_what_that_has_spent(tmp_path):
    hospital = Hospital(tmp_path, epsilon_budget=3.0)
    with hospital.console() as client:
        assert "Epsilon 0 of 3 is spent at delta 1e-06, by 0 answers" in client.text("/budget")
