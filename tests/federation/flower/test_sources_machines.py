"""Real processes whose rows are a folder, a query and a cluster: the bits of one process with a file each."""

import numpy as np
import pytest
from pyarrow import parquet

from fedrcd.methods.registry import build
from fedrcd.protocol.driver import run
from tests.dask_cluster import cluster
from tests.federation.flower.machines import Machines
from tests.federation.sites import NAMES
from tests.postgres import server  # noqa: F401 - a fixture

pytestmark = pytest.mark.slow


def cut(table, folder):
    folder.mkdir()
    for number, (first, last) in enumerate([(0, 3), (3, 700), (700, None)]):
        parquet.write_table(table[first:last], folder / f"{number}.parquet")


def test_three_sources_over_processes_give_the_bits_of_one_process(tmp_path, server):  # noqa: F811 - the fixture
    pytest.importorskip("distributed", reason="Dask is not here: pip install 'fedrcd[dask]'")
    from adbc_driver_postgresql import dbapi

    machines = Machines(tmp_path / "machines")
    tables = [parquet.read_table(machines.disk.data(name)) for name in NAMES]
    cut(tables[0], tmp_path / "folder")
    with dbapi.connect(server) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("of_a_process", tables[1], mode="replace")
        connection.commit()
    cut(tables[2], tmp_path / "spread")
    (tmp_path / "dask").mkdir()
    try:
        with cluster(tmp_path / "dask", 2) as address:
            machines.start_coordinator()
            machines.start_site(NAMES[0], data=str(tmp_path / "folder"))
            machines.start_site(NAMES[1], data=server, query="select * from of_a_process")
            machines.start_site(NAMES[2], data=f"dask:{address}{tmp_path / 'spread'}")
            outcomes = [machines.run(method) for method in ("fedrcd-s", "fedrcd-x")]
    finally:
        machines.stop_all()
    for outcome in outcomes:
        transport = machines.disk.in_process(outcome.sites)
        expected = run(build(outcome.method).rounds(transport.setting), transport)
        assert len(outcome.sites) == 3
        assert np.array_equal(outcome.estimate.B, expected.B)
        assert np.array_equal(outcome.estimate.order, expected.order)
