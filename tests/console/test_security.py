"""Who is let in to a console, from where, and what never gets out: refused, and logged."""

import json

import pandas as pd
import pytest

from fedrcd.console.tokens import Tokens
from fedrcd.errors import ConfigError
from tests.console.places import PLANTED, A, Client, Hospital

PAGES = ("/", "/log", "/log.csv", "/runs", "/budget", "/table", "/editions", "/erasure", "/federation", "/people")
ACTIONS = (
    *("/decide", "/allow", "/budget/renew", "/people/make", "/people/withdraw"),
    *("/editions/allow", "/erasure/wish", "/erasure/forget", "/erasure/carry-out"),
    *("/federation/bring", "/federation/give-up", "/federation/accept"),
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    hospital = Hospital(tmp_path_factory.mktemp("hospital"))
    with hospital.console() as client:
        yield hospital, client


def questions(hospital):
    return [one.question for one in hospital.logged()]


@pytest.mark.parametrize("path", [*PAGES, "/live"])
def test_nobody_sees_a_page_without_a_token(place, path):
    hospital, client = place
    nobody = Client(client.console, role="")
    answer = nobody.get(path)
    assert answer.status_code in {303, 401}
    assert "Log out" not in answer.text
    assert "a request without a token" in questions(hospital)


@pytest.mark.parametrize("path", ACTIONS)
def test_nobody_does_anything_without_a_token(place, path):
    _, client = place
    assert Client(client.console, role="").post(path, form_token="", digest="0").status_code == 401


@pytest.mark.parametrize("path", ACTIONS)
def test_a_role_that_is_not_enough_does_nothing_and_is_logged_by_name(place, path):
    hospital, client = place
    assert client.as_role("view", "Bob").post(path, digest="0").status_code == 403
    refused = [one for one in hospital.logged() if one.who == "Bob (view)"]
    assert refused[-1].question == "refused at the console: the role is not enough"


def test_the_link_of_the_start_is_good_once(place):
    hospital, client = place
    link = client.start_link
    first, second = (Client(client.console, role="") for _ in range(2))
    assert first.get(link).headers["location"] == "/"
    assert first.get("/").status_code == 200
    assert second.get(link).headers["location"] == "/login?failed=link"
    assert second.get("/").status_code == 303
    assert "a start link that is wrong, or was used before" in questions(hospital)


def test_a_token_lets_in_until_it_is_withdrawn_and_a_wrong_one_never(place):
    hospital, client = place
    token = hospital.tokens.make("approve", "Cleo")
    visitor = Client(client.console, role="")
    assert (
        visitor.post("/login", form_token="", token="fedrcd-" + "0" * 64).headers["location"] == "/login?failed=token"
    )
    assert "a wrong token" in questions(hospital)
    assert visitor.post("/login", form_token="", token=token).headers["location"] == "/"
    assert "Cleo (approve)" in visitor.get("/").text
    hospital.tokens.withdraw("Cleo")
    assert visitor.get("/").status_code == 303


def test_tokens_are_kept_as_digests_that_only_the_owner_can_read(tmp_path):
    tokens = Tokens(tmp_path)
    text = tokens.make("view", "Dora")
    assert text not in tokens.path.read_text()
    assert tokens.path.stat().st_mode & 0o077 == 0
    assert [one["role"] for one in json.loads(tokens.path.read_text())] == ["view"]
    with pytest.raises(ConfigError, match="--role must be one of"):
        tokens.make("root", "Dora")
    with pytest.raises(ConfigError, match="no token of 'Eve'"):
        tokens.withdraw("Eve")


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1", "localhost:1", "127.0.0.1.evil.example"]
)
def test_a_name_that_was_made_to_lead_here_is_refused(place, host):
    """DNS rebinding: the browser asks under the attacker's name."""
    hospital, client = place
    assert client.get("/", headers={"Host": host}).status_code == 421
    assert "a request under another name than the console's" in questions(hospital)


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost", None])
@pytest.mark.parametrize("path", [*ACTIONS, "/login", "/logout"])
def test_a_form_from_another_page_does_nothing(place, path, origin):
    hospital, client = place
    assert client.post(path, origin=origin, digest="0").status_code == 403
    assert "a form that came from another page" in questions(hospital)


@pytest.mark.parametrize("word", ["", "0" * 43])
@pytest.mark.parametrize("path", [*ACTIONS, "/logout"])
def test_a_form_without_the_word_of_the_session_does_nothing(place, path, word):
    _, client = place
    assert client.post(path, form_token=word, digest="0").status_code == 403


def test_the_cookie_is_for_the_browser_alone_and_for_this_port(place):
    _, client = place
    cookie = Client(client.console, role="").get(client.start_link).headers["set-cookie"]
    assert cookie.startswith(f"fedrcd-{client.address.port}=")
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie


@pytest.mark.parametrize("path", [*PAGES, "/login", "/nowhere", "/assets/console.css"])
def test_every_answer_forbids_what_comes_from_elsewhere(place, path):
    _, client = place
    headers = client.get(path).headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../web.py",
        "/assets/%2e%2e/web.py",
        "/assets/..%2f..%2fweb.py",
        "/assets/%2e%2e%2f%2e%2e%2fsite.db",
        "/runs/..%2f..%2fsite.db",
        "/../../../../etc/passwd",
        "//etc/passwd",
    ],
)
def test_a_path_leads_nowhere_else(place, path):
    _, client = place
    answer = client.http.send(client.http.build_request("GET", client.base).__class__("GET", client.base + path))
    assert answer.status_code in {303, 401, 404, 409}
    assert "import" not in answer.text
    assert "root:" not in answer.text


def test_a_form_that_is_too_large_is_refused(place):
    _, client = place
    assert client.post("/allow", purpose="x" * 5_000_000).status_code == 413


def test_names_with_html_are_shown_and_not_run(tmp_path):
    hospital = Hospital(tmp_path)
    hostile = "<img src=x onerror=alert(1)>\"'<script>alert(2)</script>"
    hospital.call(title=hostile, purpose=hostile)
    hospital.ask()
    with hospital.console() as client:
        for path in ("/", "/log", "/runs", f"/log?q={hostile}"):
            text = client.get(path).text
            assert "<img" not in text
            assert "<script>alert" not in text
        assert "&lt;img src=x" in client.get("/").text
        client.post("/people/make", name=hostile, role="view")
        assert "<img" not in client.get("/people").text


def test_no_value_of_the_table_is_in_any_answer(tmp_path):
    hospital = Hospital(tmp_path)
    data = hospital.disk.data(A)
    table = pd.read_parquet(data)
    table.loc[7, table.columns[1]] = PLANTED
    table.loc[9, "id"] = "patient-4711-planted"
    table.to_parquet(data, index=False)
    planted = [str(PLANTED), f"{PLANTED:,}", "987,654", "987654", "patient-4711-planted"]
    hospital.call()
    hospital.ask()
    with hospital.console() as client:
        for path in PAGES:
            client.text(path)
            text = client.get(path).text
            assert [one for one in planted if one in text] == []


def test_an_address_for_others_needs_tls_and_tokens(tmp_path):
    from fedrcd.console.serving import Listening

    tokens = Tokens(tmp_path)
    with pytest.raises(ConfigError, match="others can listen in"):
        Listening(host="0.0.0.0", port=1).address(tokens)
    secured = Listening(host="0.0.0.0", port=1, certificate=tmp_path, key=tmp_path, names=("console.example",))
    with pytest.raises(ConfigError, match="everybody needs a token"):
        secured.address(tokens)
    tokens.make("view", "Ada")
    address = secured.address(tokens)
    assert address.is_secure
    assert address.cookie.startswith("__Host-")
    assert "https://console.example:1" in address.origins


def test_a_log_cannot_be_filled_by_whoever_knocks(place):
    hospital, client = place
    before = len(hospital.logged())
    nobody = Client(client.console, role="")
    for _ in range(20):
        nobody.get("/log")
    assert len(hospital.logged()) <= before + 1
