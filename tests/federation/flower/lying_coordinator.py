"""A coordinator that lies, as a run of Flower's: what it does stands in a file, what it learns goes into another."""

import json
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from fedrcd.errors import FedrcdError
from fedrcd.federation.coordinator.conduct import Conductor
from fedrcd.federation.coordinator.gather import Fault
from fedrcd.federation.flower.courier import GridCourier, find_nodes
from fedrcd.federation.messages.envelope import is_message, pack_message, unpack_message
from fedrcd.federation.messages.requests import Request, pack_request, unpack_reply
from fedrcd.federation.site.masked import REPLIES
from fedrcd.methods import skeleton
from fedrcd.protocol.entropy_question import EntropyQuestion
from fedrcd.protocol.wire import from_bytes, to_bytes

LIE, LEARNT, SUMS = "lie.json", "learnt.json", "sums.bin"

APP = """
import sys

sys.path.insert(0, {root!r})
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp

client = ClientApp()
server = ServerApp()


@server.main()
def main(grid, context):
    from tests.federation.flower.lying_coordinator import conduct

    conduct(grid, context.run_config["plan"])
"""


class Lying:
    """A courier that changes what it carries, and remembers what came back."""

    def __init__(self, courier, change):
        self.courier, self.change, self.learnt = courier, change, []

    def deliver(self, packets, seconds):
        asked = {site: self.change(site, unpack_message(packet, tuple(REPLIES))) for site, packet in packets.items()}
        changed = {site: pack_message(message) for site, message in asked.items()}
        for site, sent in self.courier.deliver(changed, seconds):
            if not isinstance(sent, Fault) and is_message(sent):
                reply = unpack_message(sent, REPLIES[type(asked[site])])
                kind, number = type(asked[site]).__name__, getattr(asked[site], "round", 1)
                self.change(site, reply)
                answered = bool(getattr(reply, "statement", ""))
                self.learnt.append(
                    {"site": site, "to": kind, "round": number, "refusal": reply.refusal, "answered": answered}
                )
            yield site, sent


@contextmanager
def taking(order):
    """The method takes the sources it is told, whatever their scores."""
    real = skeleton.choose

    def chosen(variables, scores, taken, admissible=None):
        step = real(variables, scores, taken, admissible)
        return replace(step, chosen=order[len(taken)]) if order else step

    with patch.object(skeleton, "choose", chosen):
        yield


def conduct(grid, folder):
    """Do what the file of lies says, and write down what was learnt."""
    from fedrcd.data.federation import read_federation
    from fedrcd.federation.coordinator.run_folder import RunPlan, write_json
    from fedrcd.federation.masking.plan import MaskedPlan
    from tests.federation.masking.test_lying_relay import OwnKeys
    from tests.federation.masking.test_lying_replay import LIES, lie_to

    plan, lie = RunPlan.read(folder), json.loads((Path(folder) / LIE).read_text())
    federation = read_federation(plan.federation)
    courier = GridCourier(grid, find_nodes(grid, federation, by_key=True, seconds=plan.wait))
    names = tuple(site.name for site in federation.sites)
    told = {"error": "", "order": [], "learnt": []}
    if "question" in lie:
        question = from_bytes(bytes.fromhex(lie["question"]), EntropyQuestion)
        request = Request("lie", 1, lie["federation"], lie["site"], names, question)
        [(_, sent)] = list(courier.deliver({lie["site"]: pack_request(request)}, 120.0))
        reply = unpack_reply(sent)
        told["learnt"] = [{"refusal": reply.refusal and str(reply.refusal)}]
        (Path(folder) / SUMS).write_bytes(b"".join(to_bytes(sums) for _, sums in reply.blocks))
    else:
        change = lambda _, message: message  # noqa: E731
        if "change" in lie:
            change = lie_to(lie["site"], LIES[lie["change"]])
        if "keys" in lie:
            change = OwnKeys(lie["keys"], names)
        lying = Lying(courier, change)
        try:
            with taking(lie.get("order", [])):
                found = Conductor(plan, federation, say=lambda _: None).run(lying, names)
            told["order"] = found.estimate.order.tolist()
        except FedrcdError as problem:
            told["error"] = str(problem)
        told["learnt"] = lying.learnt
        if "keys" in lie and change.answer is not None:
            planned = MaskedPlan(method=plan.settings.method, settings=plan.settings).over(federation, names)
            (Path(folder) / SUMS).write_bytes(planned.asked.ring.to_bytes(change.sums(planned)))
    write_json(Path(folder) / LEARNT, told)
