"""Real processes whose sites form rows with a past: the bits of one process."""

import numpy as np
import pytest

from fedrcd.data.federation import read_federation, write_federation
from fedrcd.methods.registry import build
from fedrcd.protocol.driver import run
from tests.federation.flower.machines import Machines
from tests.federation.sites import NAMES, visited

pytestmark = pytest.mark.slow


def test_rows_with_a_past_over_processes_give_the_bits_of_one_process(tmp_path):
    machines = Machines(tmp_path / "machines")
    keys = {site.name: site.key for site in read_federation(machines.disk.file).sites}
    machines.disk = visited(tmp_path / "visits", keys=keys)
    write_federation(machines.disk.file, machines.disk.federation)
    try:
        machines.start_coordinator()
        for name in NAMES:
            machines.start_site(name)
        outcomes = [machines.run(method) for method in ("fedrcd-s", "fedrcd-x")]
    finally:
        machines.stop_all()
    for outcome in outcomes:
        transport = machines.disk.in_process(outcome.sites)
        expected = run(build(outcome.method).rounds(transport.setting.knowing(None)), transport)
        assert outcome.past == 1
        assert len(outcome.sites) == 3
        assert np.array_equal(outcome.estimate.B, expected.B)
        assert np.array_equal(outcome.estimate.order, expected.order)
