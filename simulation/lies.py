"""What a coordinator that lies may send: questions that no site may answer, and views of a run that nobody held."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

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


def _with_key(text: str) -> str:
    """A roll call with a key of the coordinator's."""
    at = text.index('"key":"') + 7
    return text[:at] + "09" + "00" * 31 + text[at + 64 :]
