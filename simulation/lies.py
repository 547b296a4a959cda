"""What a coordinator that lies may send: questions that no site may answer, and views of a run that nobody held."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fedrcd.federation.ledger.entries import next_entry
from fedrcd.federation.ledger.ledger import read_key
from fedrcd.federation.ledger.refresh_messages import EntryRecord, LedgerNews
from fedrcd.federation.messages.envelope import is_message, pack_message, unpack_message
from fedrcd.federation.messages.masked import MaskedAsk, MaskedCallRequest
from fedrcd.federation.messages.requests import Request
from fedrcd.federation.site.masked import REPLIES
from fedrcd.protocol.pair_question import PairQuestion
from fedrcd.protocol.questions import Basis
from fedrcd.protocol.transport import Setting
from fedrcd.protocol.wire import Packet
from fedrcd.statistics.expectation import Gaussian
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import ARITHMETIC
from fedrcd.statistics.residual_maps import residual_map
from simulation.events import Trouble

if TYPE_CHECKING:
    from simulation.world import World

TOLD = Trouble("lie", "coordinator", 0)
"""In place of a fault: what fails after a lie fails rightly."""


def fair(world: World, site: str) -> Request:
    """A question of pairs that any site answers."""
    world.runs += 1
    setting = Setting(world.federation.variables, _frame(world), grid=ARITHMETIC["exact"])
    return Request(f"asked{world.runs}", 1, world.digest, site, world.life.sites, setting.pairs(4))


def unfair(world: World, site: str) -> Request:
    """The same with something that must not be."""
    asked, rng = fair(world, site), world.rng
    variables, frame = world.federation.variables, _frame(world)
    others = tuple(one for one in world.life.sites if one != site)
    own = world.tables[site][list(variables)].dropna().to_numpy() / frame.scale - frame.centre / frame.scale
    moments = Gaussian(own.mean(axis=0), np.cov(own.T, ddof=0))  # what it knows of the site by now
    grid = ARITHMETIC["exact"]
    R, _ = residual_map(moments.cov, (0,))
    chosen: list[Callable[[], Request]] = [
        lambda: replace(asked, question=PairQuestion(variables, Frame(frame.centre, frame.scale * 2.0), 4, grid=grid)),
        lambda: replace(asked, question=PairQuestion(variables, Frame(frame.centre + 0.5, frame.scale), 4, grid=grid)),
        lambda: replace(asked, question=PairQuestion(variables, frame, 4, R, basis=Basis(moments, (0,)))),
        lambda: replace(asked, federation="0" * 64),
        lambda: replace(asked, site=others[0]),
        lambda: replace(asked, cohort=others),
        lambda: replace(asked, cohort=tuple(reversed(world.life.sites))),
    ]
    return chosen[int(rng.integers(len(chosen)))]()


def _frame(world: World) -> Frame:
    frame = world.federation.declared_frame()
    assert frame is not None
    return frame


def twisted(world: World) -> Callable[[str, Packet], Packet]:
    """A lie to one site about a masked run; what all signed is kept for lies to come."""
    sites = world.life.sites
    victim, other = (sites[k] for k in world.rng.permutation(len(sites))[:2].tolist())
    how = ("forged", "another run", "another question", "other terms", "left out")[int(world.rng.integers(5))]
    world.covered(f"lie: {how}")

    def twist(site: str, packet: Packet) -> Packet:
        message: Any = unpack_message(packet, tuple(REPLIES)) if is_message(packet) else None
        if isinstance(message, MaskedCallRequest) and site == victim and how == "other terms":
            later = message.terms.replace('"expires":1', '"expires":2', 1)
            return pack_message(replace(message, terms=later))
        if not isinstance(message, MaskedAsk):
            return packet
        calls = message.roll_calls
        if site == victim and how == "forged":
            at = [k for k, (text, _) in enumerate(calls) if f'"site":"{other}"' in text]
            calls = tuple((_with_key(text), sign) if k in at else (text, sign) for k, (text, sign) in enumerate(calls))
        elif site == victim and how == "another run" and world.roll_calls:
            calls = world.roll_calls[int(world.rng.integers(len(world.roll_calls)))]
        elif site == victim and how == "left out":
            calls = calls[:-1]
        question = message.question
        if site == victim and how == "another question":
            question = f"{int(question[0], 16) ^ 1:x}{question[1:]}"
        return pack_message(replace(message, roll_calls=calls, question=question))

    return twist


def retold(world: World) -> Callable[[str, Packet], Packet]:
    """A lie to one site about the ledger: it is shown as it was before, or with another past, rightly signed."""
    told = [site for site, news in sorted(world.news.items()) if news]
    victim = told[int(world.rng.integers(len(told)))]
    how = ("as it was", "another past")[int(world.rng.integers(2))]
    world.covered(f"lie: {how}")
    secret = read_key(world.ledger.with_name(f"{world.ledger.name}.key"))
    assert secret is not None

    def twist(site: str, packet: Packet) -> Packet:
        if site != victim or not is_message(packet) or packet.header["message"]["kind"] != "ledger-news/1":
            return packet
        news, before = unpack_message(packet, LedgerNews), world.news[site]
        if how == "as it was":
            return pack_message(replace(news, entries=before[0].entries, acknowledged=(), heads=()))
        known = {one.number: one.entry() for each in (*before, news) for one in each.entries}
        chain = [known[number] for number in sorted(known)]
        for k in range(max(1, len(chain) // 2), len(chain)):
            content = {key: value for key, value in chain[k].content.items() if key not in FRAME}
            chain[k] = next_entry(chain[k - 1], chain[k].kind, content | {"time": "2020-01-01"}, secret)
        return pack_message(replace(news, entries=tuple(map(EntryRecord.of, chain)), acknowledged=(), heads=()))

    return twist


FRAME = {"format", "number", "kind", "previous"}
"""Parts of an entry that follow from its place."""


def _with_key(text: str) -> str:
    """A roll call with a key of the coordinator's."""
    at = text.index('"key":"') + 7
    return text[:at] + "09" + "00" * 31 + text[at + 64 :]
