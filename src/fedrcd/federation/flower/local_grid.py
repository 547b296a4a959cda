"""A Grid in this process: the same ServerApp and ClientApp without a network, for tests and for trying out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flwr.app import Context, Error, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid
from flwr.supercore.task_identity import TaskIdentity

from fedrcd.federation.flower.client import SETTINGS
from fedrcd.federation.flower.client import app as site_app

APP_RAISED = 2


class LocalGrid(Grid):
    """Nodes are numbered from 1; each is a ClientApp with the settings file of its site.

    Messages are answered when they are pulled, one after the other.
    """

    def __init__(self, settings: Sequence[str], app: ClientApp = site_app) -> None:
        self._app = app
        self._settings: Mapping[int, str] = dict(enumerate(settings, 1))
        self._messages: dict[str, Message] = {}
        self._sent = 0
        TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1  # else no message can be made

    def set_run(self, run: Any) -> None:
        """There are no runs here."""

    @property
    def run(self) -> Any:
        """There are no runs here."""
        return None

    def create_message(self, *args: Any, **kwargs: Any) -> Message:  # noqa: ARG002 - the signature of Flower
        """Messages are made by their constructor; Flower keeps this name for older apps."""
        raise AssertionError("our apps make messages by their constructor")

    def get_node_ids(self) -> Iterable[int]:
        """All nodes."""
        return list(self._settings)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Keep messages until their replies are pulled."""
        numbers = []
        for message in messages:
            self._sent += 1
            number = str(self._sent)
            message.metadata.__dict__["_message_id"] = number
            self._messages[number] = message
            numbers.append(number)
        return numbers

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """Answer the messages that were not answered yet."""
        return [self._answer(self._messages.pop(number)) for number in message_ids if number in self._messages]

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> Iterable[Message]:
        """Answer messages at once."""
        del timeout
        return self.pull_messages(self.push_messages(messages))

    def _answer(self, message: Message) -> Message:
        node = message.metadata.dst_node_id
        context = Context(
            run_id=1, node_id=node, node_config={SETTINGS: self._settings[node]}, state=RecordDict(), run_config={}
        )
        try:
            return self._app(message=message, context=context)
        except Exception as problem:  # as Flower does, text and all
            return Message(Error(APP_RAISED, str(problem)), reply_to=message)
