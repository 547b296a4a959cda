"""Three hospitals and a coordinator on this machine, each with its page in a browser: `make demo-consoles`."""

from __future__ import annotations

import shutil
import signal
import sys
from pathlib import Path

from experiments.tasks.consoles import Consoles
from experiments.tasks.loopback import say

FOLDER = Path("demo-consoles")


def main() -> int:
    """Start everything, print the links, and end with ctrl-c."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    consoles = Consoles.write(FOLDER.resolve())
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with consoles.running():
            say("\neach of these links is good once:")
            for name, link in consoles.links.items():
                say(f"  {name:12} {link}")
            say("every answer waits for a person: start a run on the coordinator's page, and approve it at the sites")
            say("ctrl-c stops everything")
            signal.pause()
    except KeyboardInterrupt:
        say("stopping")
    return 0


if __name__ == "__main__":
    sys.exit(main())
