"""Erasure, editions and the federation file on the page of a site."""

import json
import re
from dataclasses import replace

import pytest

from fedrcd.data.federation import SiteEntry, federation_lines
from fedrcd.federation.ledger.certificate import STATEMENTS
from fedrcd.federation.messages.refusals import Refusal
from tests.console.places import A, Hospital

PATIENTS = [f"{A} {k}" for k in range(3)]


@pytest.fixture
def answered(tmp_path):
    """A site that has answered about its rows."""
    hospital = Hospital(tmp_path, approve=False)
    hospital.call()
    assert hospital.ask() is None
    with hospital.console() as client:
        yield hospital, client


def wish_of(client):
    return re.search(r'name="wish" value="([0-9a-f]+)"', client.get("/erasure").text)[1]


def struck(hospital):
    with hospital.service.store() as store:
        return len(store.struck.erased())


def test_an_erasure_is_tried_first_and_erases_nobody(answered):
    hospital, client = answered
    assert client.post("/erasure/wish", ids="\n".join(PATIENTS)).status_code == 303
    said = client.text("/erasure")
    assert "3 rows would be in no sum" in said
    assert "The site would not answer for now" in said
    assert struck(hospital) == 0
    client.post("/erasure/forget")
    assert "would be in no sum" not in client.text("/erasure")


def test_an_erasure_is_carried_out_once_and_logged_without_names(answered):
    hospital, client = answered
    client.post("/erasure/wish", ids="\n".join(PATIENTS))
    client.text("/erasure")
    wish = wish_of(client)
    assert client.post("/erasure/carry-out", wish=wish, reason="asked for by letter").status_code == 303
    assert struck(hospital) == 3
    assert client.post("/erasure/carry-out", wish=wish).status_code == 409
    [entry] = [one for one in hospital.logged() if one.question.startswith("erased 3 rows")]
    assert (entry.who, entry.detail) == ("Ada (administer)", "asked for by letter")
    assert hospital.ask(run="r2.0") is Refusal.EDITION
    assert "3 persons" in client.text("/erasure")
    assert [name for name in PATIENTS if name in client.get("/erasure").text + client.get("/log?all=1").text] == []


def test_a_condition_chooses_rows_too(answered):
    hospital, client = answered
    column = hospital.disk.federation.variables[0]
    client.post("/erasure/wish", conditions=f"{column} > 1e9")
    assert "look at the condition" in client.text("/erasure")
    client.post("/erasure/wish", conditions="no_such_column == 1")
    assert "no_such_column" in client.text("/erasure")


def test_somebody_who_is_not_there_is_not_erased_and_not_repeated(answered):
    _, client = answered
    client.post("/erasure/wish", ids="patient-nobody")
    text = client.text("/erasure")
    assert "1 of 1 rows to erase are not in" in text
    assert "patient-nobody" not in text


def test_what_waits_need_not_wait(answered):
    hospital, client = answered
    client.post("/erasure/wish", ids="\n".join(PATIENTS))
    client.text("/erasure")
    client.post("/erasure/carry-out", wish=wish_of(client))
    assert "waits" in client.text("/editions")
    assert client.post("/editions/allow", how="now").status_code == 409  # not understood
    assert client.post("/editions/allow", how="fill").status_code == 303
    assert hospital.ask(run="r2.0") is None
    said = client.text("/editions")
    assert "370 rows" in said  # a batch of thirty, of whom three were erased
    assert "400 rows" in said
    assert "Ada (administer)" in {one.who for one in hospital.logged() if "next edition" in one.question}


def test_a_certificate_is_opened_shut_in(answered):
    hospital, client = answered
    digest = "a" * 64
    certificate = {
        "format": "f",
        "ledger": digest[:32],
        "site": A,
        "block": A,
        "what": "rows of the site's block",
        "time": "2026-01-02T03:04:05Z",
        "rows_before": 400,
        "rows_after": 370,
        "former_version": 1,
        "present_version": 2,
        "state_before": digest,
        "state_after": digest,
        "public_key": digest,
        "signature": digest,
        "suspended_blocks": {},
        "results_from_earlier_states": [],
        "statements": list(STATEMENTS),
        "entry": {"number": 7, "hash": digest},
    }
    folder = hospital.state / "certificates"
    folder.mkdir()
    (folder / "a-7.json").write_text(json.dumps(certificate))
    assert "400, 370" in client.text("/erasure")
    page = client.get("/certificates/a-7.json")
    assert "no longer part of the state" in page.text
    assert page.headers["content-security-policy"].startswith("sandbox")
    for path in ("..%2fsite.db", "..%2f..%2f..%2fhospital-a.parquet", "b-1.json"):
        assert client.get(f"/certificates/{path}").status_code in {404, 409}


def changed(hospital):
    federation = hospital.disk.federation
    more = SiteEntry("hospital-d", federation.variables, (A,), "ecdsa-sha2-nistp384 AAAAE2VjZHNh")
    return "\n".join(federation_lines(replace(federation, sites=(*federation.sites, more)))) + "\n"


def test_a_changed_file_takes_effect_once_a_person_has_seen_and_accepted_it(answered):
    hospital, client = answered
    before = hospital.disk.file.read_text()
    with hospital.service.store() as store:
        store.masked.accept("\n".join(federation_lines(hospital.disk.federation)))
    assert client.post("/federation/bring", text=changed(hospital)).status_code == 303
    said = client.text("/federation")
    assert '+name = "hospital-d"' in said
    assert "SHA256:" in said
    assert hospital.disk.file.read_text() == before
    digest = re.search(r'name="digest" value="([0-9a-f]+)"', client.get("/federation").text)[1]
    assert client.post("/federation/accept", digest=digest).status_code == 409  # fingerprints not compared
    assert client.post("/federation/accept", digest="0" * 64, compared="yes").status_code == 409  # another file
    assert client.post("/federation/accept", digest=digest, compared="yes").status_code == 303
    assert "hospital-d" in hospital.disk.file.read_text()
    assert "accepted by a person here" in client.text("/federation")
    assert "accepted the federation file: 4 sites, 1 keys" in [one.question for one in hospital.logged()]


@pytest.mark.parametrize("text", ["", "not toml at all [", 'variables = ["a"]', "\x00"])
def test_what_is_no_federation_file_is_not_taken(answered, text):
    _, client = answered
    assert client.post("/federation/bring", text=text).status_code == 409
    assert "brought" not in client.text("/federation").partition("Bring a changed file")[0]
