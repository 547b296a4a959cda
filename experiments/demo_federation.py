"""Three hospitals and a coordinator on this machine, with TLS and keys: `make demo-federation`.

Runs a method of one round and one of many, compares both with the same methods in one process to the last bit, shows
the results, and stops everything it started.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from experiments.tasks.loopback import Loopback, call, say
from fedrcd.data.examples import hospitals

METHODS = ("fedrcd-s", "fedrcd-x")
NAMES = ("hospital-a", "hospital-b", "hospital-c")
FOLDER = Path("demo-federation")


def main() -> int:
    """Run the demonstration; 0 if every result was right."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    here = Loopback.write(FOLDER, hospitals(), NAMES)
    say("three hospitals, each with its table; nobody sends rows")
    here.prepare()
    for name in NAMES:
        call("site", "check", *here.site(name))
    call("site", "preview", METHODS[0], *here.site(NAMES[0]))
    say("starting the sites with --trust-coordinator: fedrcd-x asks several times, which no site answers otherwise")
    with here.running():
        outcomes = [here.run(method) for method in METHODS]
        call("coordinator", "status", *here.state)
    call("site", "log", "--state", str(FOLDER / NAMES[0]))
    right = True
    for outcome in outcomes:
        same = here.equals_one_process(outcome)
        right = right and same
        seconds = ", ".join(f"{one:.1f}" for one in outcome.seconds)
        verdict = "equal to one process, to the last bit" if same else "DIFFERENT FROM ONE PROCESS"
        say(f"{outcome.method}: {verdict}; seconds per round: {seconds}")
    say(f"stopped everything; {FOLDER}/ has tables, keys, logs and results")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
