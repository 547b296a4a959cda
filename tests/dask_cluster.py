"""A Dask scheduler of the tests' own with workers, each a process."""

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent


@contextmanager
def cluster(where, workers, *, nanny=False):
    """The address of a scheduler; with a `nanny`, a worker that dies is started again."""
    import distributed

    file = where / "scheduler.json"
    common = ["--scheduler-file", str(file), "--no-dashboard"]
    how = ["--nthreads", "1", "--nanny" if nanny else "--no-nanny", "--local-directory", str(where), *common]
    begin = [("scheduler", ["--host", "127.0.0.1", "--port", "0", *common]), *[("worker", how)] * workers]
    own = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE / "data" / "sources"), str(HERE.parent)])}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": where, "env": own}
    processes = []
    try:
        for name, words in begin:
            processes.append(subprocess.Popen([sys.executable, "-m", f"distributed.cli.dask_{name}", *words], **quiet))
            while not file.exists():
                time.sleep(0.05)
        with distributed.Client(scheduler_file=str(file)) as client:
            client.wait_for_workers(workers, timeout=120)
            yield client.scheduler.address
    finally:
        for process in processes:
            process.terminate() if nanny else process.kill()  # a nanny ends its worker
            process.wait()
