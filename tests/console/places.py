"""Consoles over small federations, answering on a port of this machine while a block runs."""

import re
import threading
import time
from contextlib import contextmanager
from html import unescape
from typing import ClassVar

import httpx

from fedrcd.console.serving import Listening, server_of
from fedrcd.console.site.app import site_console
from fedrcd.console.site.place import SitePlace
from fedrcd.console.tokens import Tokens, Visitor
from fedrcd.federation.messages.envelope import pack_message, unpack_answer
from fedrcd.federation.messages.requests import Request
from fedrcd.federation.messages.roll_call import PROGRAM, Plan, RollCallReply, RollCallRequest
from fedrcd.federation.site.settings import SETTINGS
from fedrcd.protocol.pair_question import PairQuestion
from fedrcd.statistics.grid import ARITHMETIC
from tests.federation.sites import NAMES, horizontal

A = "hospital-a"
PLANTED = 987654.3219
"""A value in the table that is nowhere else."""


@contextmanager
def answering(console, listening):
    """A console that answers while the block runs."""
    server = server_of(console, listening)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    end = time.monotonic() + 60
    while not server.started:
        assert thread.is_alive(), "the console did not start"
        assert time.monotonic() < end, "the console was not there in time"
        time.sleep(0.01)
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(30)
        console.computations.close()


class Hospital:
    """Site A of three, whose answers wait for a person, and its console."""

    def __init__(self, folder, **settings):
        self.disk = horizontal(folder, p=3, rows=(400, 410, 420), identified=True)
        self.service = self.disk.service(A, **{"approve": True, "trust_coordinator": False, "clear": True, **settings})
        self.state = self.disk.state(A)
        self.service.settings.write(self.state / SETTINGS)
        self.place = SitePlace(self.state)
        self.tokens = Tokens(self.state)

    def question(self, order=4):
        return PairQuestion(
            self.disk.federation.variables, self.disk.federation.declared_frame(), order, grid=ARITHMETIC["exact"]
        )

    def call(self, run="r1.0", method="fedrcd-ni", title="Kidney function", purpose="Study 7, approved by the board"):
        """A coordinator calls the roll of a run."""
        plan = Plan(method, {}, "exact", 0, False)
        asked = RollCallRequest(run, self.disk.digest, A, NAMES, plan, PROGRAM, title=title, purpose=purpose)
        return unpack_answer(self.service.respond(pack_message(asked)), RollCallReply)

    def ask(self, run="r1.0", order=4):
        """It asks; what is refused, if anything is."""
        return self.service.reply(Request(run, 1, self.disk.digest, A, NAMES, self.question(order))).refusal

    def logged(self):
        with self.service.store() as store:
            return store.entries()

    @contextmanager
    def console(self):
        """Its console, and who asks for pages of it."""
        listening = Listening()
        console = site_console(self.place, listening)
        with answering(console, listening):
            try:
                yield Client(console)
            finally:
                Client.close_all(console)


class Client:
    """Somebody with a browser without a screen."""

    opened: ClassVar = []

    def __init__(self, console, role="administer", name="Ada"):
        self.console, self.address = console, console.address
        self.base = f"http://127.0.0.1:{self.address.port}"
        self.http = httpx.Client(base_url=self.base, follow_redirects=False, timeout=60)
        self.opened.append((console, self.http))
        if role:
            self.log_in(role, name)

    @classmethod
    def close_all(cls, console):
        for one, http in cls.opened:
            if one is console:
                http.close()

    def log_in(self, role, name):
        word = self.console.sessions.begin(Visitor(name, role))
        self.http.cookies.set(self.address.cookie, word, domain="127.0.0.1")
        self.form_token = self.console.sessions.find(word).form_token

    def as_role(self, role, name="Bob"):
        return Client(self.console, role, name)

    @property
    def start_link(self):
        return f"{self.base}/enter?once={self.console.sessions.offer_start(Visitor('Ada', 'administer'))}"

    def get(self, path, **more):
        return self.http.get(path, **more)

    def post(self, path, origin=True, form_token=True, **fields):
        headers = {"Origin": self.base} if origin is True else {"Origin": origin} if origin else {}
        if form_token:
            fields["form_token"] = self.form_token if form_token is True else form_token
        return self.http.post(path, data=fields, headers=headers)

    def text(self, path):
        """What a page says, once what takes long is there."""
        end = time.monotonic() + 60
        while True:
            answer = self.get(path)
            if "under-way" not in answer.text:
                assert answer.status_code == 200, answer.text
                return words_of(answer.text)
            assert time.monotonic() < end, path
            time.sleep(0.05)


def words_of(text):
    """What a page says, without its tags."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", text))).strip()
