"""A PostgreSQL server of the tests' own, as an account other than root; skipped with one line where there is none."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

FOLDERS = ["/usr/local/bin", "/usr/bin", *map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True))]
ACCOUNT = "nobody"


@pytest.fixture(scope="session")
def server():
    """The address of an empty database, reached by a socket in a folder."""
    pytest.importorskip("adbc_driver_postgresql", reason="no driver is here: pip install 'fedrcd[postgres]'")
    initdb = shutil.which("initdb", path=os.pathsep.join(FOLDERS))
    if initdb is None:
        pytest.skip("no PostgreSQL server is here: `make postgres` installs it as root")
    folder = Path(tempfile.mkdtemp(prefix="fedrcd-postgres-", dir="/tmp"))
    account = {}
    if os.geteuid() == 0:  # whom the server refuses
        shutil.chown(folder, ACCOUNT)
        account = {"user": ACCOUNT}

    def run(name, *words):
        command = [str(Path(initdb).with_name(name)), "-D", str(folder / "db"), *words]
        return subprocess.run(
            command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder, **account
        )

    run("initdb", "-U", "fedrcd", "-A", "trust", "--no-sync", "--encoding=UTF8", "--locale=C")
    settings = f"-k {folder} -c listen_addresses='' -c fsync=off -c shared_buffers=16MB"
    run("pg_ctl", "-w", "-l", str(folder / "log"), "-o", settings, "start")
    try:
        yield f"postgresql:///postgres?host={folder}&user=fedrcd"
    finally:
        run("pg_ctl", "-w", "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)
