"""The one loop between methods and transports."""

from __future__ import annotations

from typing import Any

from fedrcd.protocol.blas import one_blas_thread
from fedrcd.protocol.questions import R_co, Rounds
from fedrcd.protocol.transport import Transport


def run(conversation: Rounds[R_co], transport: Transport) -> R_co:
    """Drive a conversation to its end: ask, pool, send the answer back."""
    answer: Any = None
    with one_blas_thread():
        while True:
            try:
                question = conversation.send(answer)
            except StopIteration as end:
                result: R_co = end.value
                return result
            answer = transport.pool(question)
