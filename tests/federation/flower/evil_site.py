"""A site that misbehaves in the way a file tells: what stands in for the command that answers messages."""

import pickle
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

SCRIPT = """#!{python}
import sys

sys.path.insert(0, {root!r})
from tests.federation.flower.evil_site import main

main({mode!r})
"""


@contextmanager
def taken_over(machines, name, mode):
    """Put this in the place of a site's own command for a while."""
    folder = machines.disk.state(name)
    (folder / "mode").write_text(mode)
    command = folder / "bin" / "flwr-clientapp"
    own = command.read_text()
    root = str(Path(__file__).parents[3])
    command.write_text(SCRIPT.format(python=sys.executable, root=root, mode=str(folder / "mode")))
    try:
        yield
    finally:
        command.write_text(own)


def main(mode_file):
    from fedrcd.federation.flower import client, site_process

    mode = Path(mode_file).read_text()
    honest = client.SiteService.reply
    if mode == "raise once":
        Path(mode_file).write_text("honest")
        client.answer = _raise
    elif mode == "shape":
        client.SiteService.reply = lambda self, request: _misshapen(honest(self, request))
    elif mode == "earlier":
        client.SiteService.reply = lambda self, request: _earlier(
            honest(self, request), Path(mode_file).with_name("kept")
        )
    elif mode == "twice":
        _push_twice()
    elif mode == "believes":
        _believe()
    elif mode == "follows":
        _follow()
    elif mode == "looks at no signature":
        _look_at_no_signature()
    site_process.main()


def _raise(*_):
    raise RuntimeError("patient 4711 has 3.14159")


def _misshapen(reply):
    from fedrcd.statistics.exact_sums import exact_tensor_sums
    from fedrcd.statistics.grid import ARITHMETIC

    rows = np.random.default_rng(0).normal(size=(300, 2))
    return replace(reply, blocks=((reply.blocks[0][0], exact_tensor_sums([rows], 2, ARITHMETIC["exact"])),))


def _earlier(reply, kept):
    """The first reply of this site, whatever is asked."""
    from fedrcd.federation.messages.requests import pack_reply, unpack_reply

    if not kept.exists():
        kept.write_bytes(pickle.dumps(pack_reply(reply)))
    return unpack_reply(pickle.loads(kept.read_bytes()))


def _push_twice():
    from flwr.supernode.runtime import run_clientapp as runtime

    push = runtime.push_message

    def twice(*arguments):
        push(*arguments)
        push(*arguments)

    runtime.push_message = twice


def _believe():
    """A site without the rules about questions in the clear, and about moments that the coordinator chose."""
    from fedrcd.federation.site.disclosure import RULES

    def unlimited(_):
        return None

    RULES["trust"] = unlimited
    from fedrcd.federation.flower import client

    client.SiteService._require_clear = lambda *_: None


def _follow():
    """A site that takes any source that was taken elsewhere, and as many orders as there are."""
    from dataclasses import replace

    from fedrcd.federation.site.disclosure import RULES
    from fedrcd.methods import skeleton

    RULES["one chain"] = lambda _: None

    skeleton.following = lambda step, source: replace(step, chosen=source)


def _look_at_no_signature():
    """A site that takes statements of others as they come."""
    from fedrcd.federation.masking.statements import Signed

    Signed.read = lambda self, kind, _public: kind.read(self.text)
