"""The ClientApp: one message, one answer. All behaviour is in `SiteService`; here is only the deadline.

Flower starts a new process for every message, so nothing is imported at the top that an answer does not need.
"""

from __future__ import annotations

import threading
from pathlib import Path

from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp

from fedrcd.errors import FedrcdError, ProtocolError
from fedrcd.federation.flower.records import from_records, to_records
from fedrcd.federation.messages.refusals import Refusal
from fedrcd.federation.messages.requests import Reply, pack_reply
from fedrcd.federation.site.service import SiteService
from fedrcd.federation.site.settings import SiteSettings
from fedrcd.protocol.wire import Packet

ASK, NAME = "query.ask", "query.name"
"""Types of messages: a question, and who a node is."""

SETTINGS = "settings"
"""Key of a node's configuration: the file with the settings of its site."""

app = ClientApp()


@app.query("ask")
def on_question(message: Message, context: Context) -> Message:
    """Answer one question."""
    return Message(to_records(answer(message.content, context)), reply_to=message)


@app.query("name")
def on_name(message: Message, context: Context) -> Message:
    """Say which site this is; a coordinator believes it only where nodes have no keys."""
    try:
        name = site_settings(context).name
    except FedrcdError:
        name = ""
    return Message(RecordDict({"name": ConfigRecord({"name": name})}), reply_to=message)


def answer(content: RecordDict, context: Context) -> Packet:
    """The packet to send back: an answer, or a fixed code; nothing raises, nothing hangs."""
    try:
        settings = site_settings(context)
    except FedrcdError:
        return pack_reply(Reply("", "", "", refusal=Refusal.FAILED))
    service = SiteService(settings)
    try:
        packet = from_records(content)
    except ProtocolError as problem:
        return service.unreadable(problem)
    return _within_deadline(service, packet)


def _within_deadline(service: SiteService, packet: Packet) -> Packet:
    """The reply of a site, or, past its deadline, that there is none: a node that hangs would answer nobody again."""
    replies: list[Packet] = []
    worker = threading.Thread(target=lambda: replies.append(service.respond(packet)), daemon=True)
    worker.start()
    worker.join(service.settings.deadline)
    if replies:
        return replies[0]
    return pack_reply(Reply("", "", service.settings.name, refusal=Refusal.DEADLINE))


def site_settings(context: Context) -> SiteSettings:
    """Settings of the site behind a node; in Flower's own simulation, of the site with the number of the node."""
    path = context.node_config.get(SETTINGS)
    if path is None and "partition-id" in context.node_config:
        folder = Path(str(context.run_config["sites"]))
        path = str(sorted(folder.glob("*/site.json"))[int(context.node_config["partition-id"])])
    if path is None:
        raise ProtocolError("this node was not started by `fedrcd site serve`")
    return SiteSettings.read(str(path))
