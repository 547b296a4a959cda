"""The page of a coordinator: invitations, runs as their folders tell them, its log; without a coordinator that runs."""

import io
import zipfile
from contextlib import contextmanager

import pytest

from fedrcd.console.coordinator.app import coordinator_console
from fedrcd.console.coordinator.place import CoordinatorPlace
from fedrcd.console.serving import Listening
from fedrcd.console.tokens import Tokens
from fedrcd.data.federation import read_federation
from fedrcd.errors import ConfigError, FileError
from fedrcd.federation.coordinator.called_sites import CalledSite, CalledSites
from fedrcd.federation.coordinator.run_folder import Status
from fedrcd.federation.flower.coordinator import Coordinator
from fedrcd.federation.messages.keys import make_development_keys, require_site_key
from tests.console.conftest import SIZES, resize, serious, too_wide
from tests.console.places import Client, answering
from tests.federation.sites import horizontal

PAGES = ("/", "/runs", "/ledger", "/actions", "/people")
ACTIONS = (
    *("/invite", "/invite/key", "/invite/drop", "/invite/join", "/runs/start", "/runs/resume"),
    *("/ledger/refresh", "/ledger/discover", "/people/make"),
)
HOSTILE = "<img src=x onerror=alert(1)>"


class Meeting:
    """A coordinator's folder and its console."""

    def __init__(self, folder):
        self.disk = horizontal(folder / "federation", p=3, rows=(400, 410, 420))
        self.folder = folder / "coordinator"
        self.folder.mkdir()
        self.keys = folder / "keys"
        self.public = make_development_keys(self.keys, ["hospital-d"], ["127.0.0.1"])["hospital-d"]
        authority = self.keys / "authority-with-key.pem"
        authority.write_text((self.keys / "ca.crt").read_text() + (self.keys / "ca.key").read_text())
        Coordinator(state=str(self.folder), host="127.0.0.1", port=1, authority=str(authority)).write()
        self.place = CoordinatorPlace(self.folder, self.disk.file)

    def run(self, name, *, title="Kidney function", state="running", **said):
        folder = self.folder / "runs" / name
        plan = self.disk.plan("fedrcd-ni", folder=str(folder), title=title, purpose="Study 7")
        plan.write()
        Status(state=state, waiting=("hospital-b",)).write(folder)
        if said:
            CalledSites(
                "2026-01-02T03:04:05", "fedrcd-ni", {site: CalledSite(**one) for site, one in said.items()}
            ).write(folder)
        return folder

    @contextmanager
    def console(self):
        console = coordinator_console(self.place, Listening())
        with answering(console, Listening()):
            try:
                yield Client(console)
            finally:
                Client.close_all(console)


@pytest.fixture
def meeting(tmp_path):
    place = Meeting(tmp_path)
    with place.console() as client:
        yield place, client


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    place = Meeting(tmp_path_factory.mktemp("meeting"))
    place.run(
        "r1", **{"hospital-a": {"program": "0.1.0", "rows": 400}, "hospital-b": {"refusal": "it has too few rows"}}
    )
    with place.console() as client:
        client.post("/invite", name="hospital-d", rows="500", **{"column X1": "yes", "column X2": "yes"})
        yield place, client


def columns(place):
    return {f"column {name}": "yes" for name in place.disk.federation.variables}


def invite(place, client, name="hospital-d"):
    return client.post("/invite", name=name, rows="500", **columns(place))


def kit(client, name="hospital-d"):
    answer = client.get(f"/kits/{name}")
    assert answer.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        return {path.rpartition("/")[2]: archive.read(path).decode() for path in archive.namelist()}


def test_an_invited_site_gets_a_kit_without_any_private_key(meeting):
    place, client = meeting
    assert invite(place, client).status_code == 303
    files = kit(client)
    assert set(files) == {"READ-ME.txt", "ca.crt", "federation.toml", "invitation.json"}
    assert "PRIVATE" not in "".join(files.values())  # although the file of the authority has its key, too
    assert files["ca.crt"].startswith("-----BEGIN CERTIFICATE-----")
    assert "ssh-keygen" in files["READ-ME.txt"]
    assert "hospital-d" not in files["federation.toml"]  # it has sent no key yet


def test_a_site_joins_once_its_key_was_compared(meeting, tmp_path):
    place, client = meeting
    invite(place, client)
    assert client.post("/invite/join", name="hospital-d", compared="yes").status_code == 409  # no key
    assert client.post("/invite/key", name="hospital-d", key=place.public).status_code == 303
    assert client.post("/invite/join", name="hospital-d").status_code == 409  # not compared
    assert len(read_federation(place.disk.file).sites) == 3
    assert client.post("/invite/join", name="hospital-d", compared="yes").status_code == 303
    assert read_federation(place.disk.file).site("hospital-d").key.startswith("ecdsa-sha2-nistp384")
    assert "hospital-d" in kit(client)["federation.toml"]
    assert "SHA256:" in kit(client)["READ-ME.txt"]
    assert [one.what for one in place.place.actions.all()][-3:-1] == [
        "site hospital-d joined the federation",
        "took the start-up kit of site hospital-d",
    ]


def test_a_private_key_is_not_taken(meeting):
    place, client = meeting
    invite(place, client)
    private = (place.keys / "hospital-d").read_text()
    answer = client.post("/invite/key", name="hospital-d", key=private)
    assert answer.status_code == 409
    assert "PRIVATE key: it must not leave its site" in answer.text
    assert "PRIVATE" not in place.place.invitations.path.read_text()
    with pytest.raises(ConfigError, match="no public key"):
        require_site_key("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIfR7Zy0uM1zS0c3Z0mYf3")


@pytest.mark.parametrize("name", ["hospital-a", "", "a/b", ".hidden", "two\nlines"])
def test_a_site_that_cannot_be_is_not_invited(meeting, name):
    place, client = meeting
    assert invite(place, client, name).status_code == 409
    assert place.place.invitations.open() == []


def test_a_run_says_what_it_is_for_who_is_waited_for_and_who_would_refuse(full):
    _, client = full
    said = client.text("/runs/r1")
    for words in ("Kidney function", "Study 7", "interrupted", "it has too few rows", "at most 400 rows"):
        assert words in said or words in client.text("/")
    assert "Kidney function" in client.text("/runs")
    assert "hospital-a yes 400 31" in said  # the row count, four powers of three variables, six products of each pair


def test_a_run_that_cannot_be_is_refused_before_anything_starts(meeting):
    place, client = meeting
    assert client.post("/runs/start", title="", purpose="x", method="fedrcd-ni").status_code == 409
    answer = client.post("/runs/start", title="t", purpose="p", method="fedrcd-x", clear="yes")
    assert answer.status_code == 409
    assert list((place.folder / "runs").glob("*")) == []


def test_a_coordinator_that_does_not_run_is_said(full):
    _, client = full
    assert "The coordinator is not running" in client.text("/")
    assert "not known" in client.text("/")


@pytest.mark.parametrize(
    "path", ["/runs/..%2f..%2fcoordinator.json", "/runs/%2e%2e", "/runs/nobody", "/kits/..%2fkeys"]
)
def test_a_name_leads_nowhere_else(full, path):
    _, client = full
    answer = client.get(path)
    assert answer.status_code in {404, 409}
    assert "authority" not in answer.text


@pytest.mark.parametrize("path", [*PAGES, "/kits/hospital-a", "/federation.toml", "/runs/r1"])
def test_nobody_sees_a_page_without_a_token(full, path):
    _, client = full
    assert Client(client.console, role="").get(path).status_code == 303


@pytest.mark.parametrize("path", ACTIONS)
def test_only_who_administers_does_anything(full, path):
    place, client = full
    assert client.as_role("approve", "Bob").post(path, name="x").status_code == 403
    assert client.post(path, origin="https://evil.example", name="x").status_code == 403
    assert any(one.who == "Bob (approve)" for one in place.place.actions.all())


def test_names_with_html_are_shown_and_not_run(meeting):
    place, client = meeting
    place.run("r2", title=HOSTILE, **{HOSTILE: {"refusal": HOSTILE}})
    invite(place, client, name=HOSTILE.replace("/", ""))
    for path in ("/", "/runs", "/runs/r2", "/actions"):
        assert "<img" not in client.get(path).text


def test_a_line_that_is_taken_out_of_the_log_shows(meeting):
    place, client = meeting
    for name in ("hospital-d", "hospital-e"):
        invite(place, client, name)
    lines = place.place.actions.path.read_text().splitlines()
    place.place.actions.path.write_text("\n".join(lines[1:]) + "\n")
    with pytest.raises(FileError, match="changed or taken out"):
        place.place.actions.all()
    assert "changed or taken out" in client.text("/actions")


@pytest.mark.parametrize("path", [*PAGES, "/runs/r1"])
def test_axe_finds_nothing_serious_and_a_phone_is_wide_enough(full, browse, keep, path):
    _, client = full
    page = browse(client, path)
    for scheme, width in SIZES:
        resize(page, scheme, width)
        assert serious(page) == []
        assert too_wide(page) <= 0
        keep(page, f"coordinator{path.replace('/', '-')}-{scheme}-{width}", full_page=True)


def test_tokens_of_a_coordinator_are_its_own(meeting):
    place, _ = meeting
    Tokens(place.folder).make("view", "Ada")
    assert [one.name for one in Tokens(place.folder).kept()] == ["Ada"]
