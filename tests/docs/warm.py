"""A Python that has everything imported already and forks for each block of code or command, to save their start-up.

``python warm.py SOCKET`` serves; ``python warm.py SOCKET code|command ARGUMENT...`` has something run: a file of
Python, or the `fedrcd` command. What runs gets the streams, the folder and the exit code of who asked.
"""

import json
import os
import socket
import sys
import traceback
import warnings


def ask(address, kind, arguments):
    """Have something run, and exit as it does."""
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(address)
        request = json.dumps({"kind": kind, "arguments": arguments, "folder": os.getcwd()}).encode()
        socket.send_fds(line, [request], [0, 1, 2])
        sys.exit(int(line.recv(16) or b"1"))


def serve(address):
    """Answer requests one after the other, each in a process of its own."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot
    import pandas  # noqa: F401
    import sklearn.linear_model  # noqa: F401

    import fedrcd.api.comparison
    import fedrcd.api.discover
    import fedrcd.cli.main
    import fedrcd.report.page  # noqa: F401

    with socket.socket(socket.AF_UNIX) as door:
        door.bind(address)
        door.listen()
        while True:
            line, _ = door.accept()
            with line:
                text, streams, _, _ = socket.recv_fds(line, 65536, 3)
                child = os.fork()
                if not child:
                    _become(json.loads(text), streams)
                _, status = os.waitpid(child, 0)
                for stream in streams:
                    os.close(stream)
                line.send(str(os.waitstatus_to_exitcode(status)).encode())


def _become(request, streams):
    """Run what was asked for in this process, and end it."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.chdir(request["folder"])
    code = 0
    try:
        if request["kind"] == "command":
            from fedrcd.cli.main import main

            sys.argv = ["fedrcd", *request["arguments"]]
            main()
        else:
            from fedrcd.errors import FedrcdWarning

            warnings.simplefilter("ignore", FedrcdWarning)
            with open(request["arguments"][0], encoding="utf-8") as file:
                exec(compile(file.read(), "block", "exec"), {"__name__": "__main__"})
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        serve(sys.argv[1])
    else:
        ask(sys.argv[1], sys.argv[2], sys.argv[3:])
