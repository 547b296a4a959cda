"""A coordinator that lies to sites in processes of their own, over TLS: what it gets with rules off, and with them."""

import json
import time
from pathlib import Path

import numpy as np
import pytest

from fedrcd.data.read import write_table
from fedrcd.data.table import Table
from fedrcd.federation.coordinator.run_folder import RunPlan
from fedrcd.federation.flower.processes import APP as BUNDLE
from fedrcd.federation.flower.processes import FLOWER
from fedrcd.federation.masking.plan import MaskedPlan
from fedrcd.federation.messages.refusals import Refusal
from fedrcd.protocol.wire import from_bytes, to_bytes
from fedrcd.statistics.entropy_sums import EntropySums
from tests.federation.flower.evil_site import taken_over
from tests.federation.flower.lying_coordinator import APP, LEARNT, LIE, SUMS
from tests.federation.flower.machines import Machines, all_started, until
from tests.federation.sites import NAMES, horizontal, logged
from tests.federation.test_lying_coordinator import P, lie, rebuilt

pytestmark = pytest.mark.slow

A, B, C = NAMES
FAR = 123
"""The row of a patient who stands out in one column, and is like everybody else in the others."""


class Untrusting(Machines):
    """Sites that trust nobody, with five columns."""

    trust = False

    def __init__(self, folder: Path):
        super().__init__(folder)
        keys = {site.name: site.key for site in self.disk.federation.sites}
        self.disk = horizontal(folder / "sites", p=P, rows=(1500, 1510, 1520), keys=keys)
        rows = np.array(self.disk.in_process_rows(A))
        rows[FAR, 0] = rows[:, 0].mean() + 20 * rows[:, 0].std()
        write_table(self.disk.data(A), Table(rows, columns=self.disk.federation.variables, source=A))
        self.rows = rows

    def lied_to(self, method="fedrcd-x", **said):
        """What a coordinator learns that does what is said, in a run of a method."""
        plan: RunPlan = self.plan(method, trust_coordinator=False, options={"masked": True})
        folder = Path(plan.folder)
        plan.write()
        (folder / LIE).write_text(json.dumps(said))
        app = self.folder / f"lying-{time.monotonic_ns()}"
        app.mkdir()
        (app / "pyproject.toml").write_text(BUNDLE.format(flower=FLOWER).replace("fedrcd_run", "lying"))
        (app / "LICENSE").write_text("none")
        (app / "lying.py").write_text(APP.format(root=str(Path(__file__).parents[3])))
        said = self.coordinator.flwr("run", str(app), "fedrcd", "--run-config", f'plan="{folder}"')
        assert said["success"], said
        until((folder / LEARNT).exists, "the end of a run that lies")
        return folder, json.loads((folder / LEARNT).read_text())

    def asked(self, question):
        """The refusal of site A, and the bytes of what it answers, to a question in the clear."""
        folder, told = self.lied_to(question=to_bytes(question).hex(), site=A, federation=self.disk.digest)
        [one] = told["learnt"]
        return one["refusal"], (folder / SUMS).read_bytes()


@pytest.fixture(scope="module")
def machines(tmp_path_factory):
    with all_started(Untrusting(tmp_path_factory.mktemp("lying"))) as federation:
        yield federation


def answered(told, site, number):
    return any(
        one["answered"]
        for one in told["learnt"]
        if (one["site"], one["to"], one["round"]) == (site, "ReplayAsk", number)
    )


@pytest.mark.parametrize("change", ["another source", "changed numbers", "one answer twice", "another question"])
def test_a_site_that_is_told_otherwise_ends_the_run_and_nothing_is_answered(machines, change):
    _, told = machines.lied_to(site=B, change=change)
    assert told["order"] == []
    assert not answered(told, B, 2)
    assert {one["refusal"] for one in told["learnt"] if one["site"] == B} >= {Refusal.RUN}


def test_an_order_of_its_own_is_had_only_where_sites_take_any_source(machines):
    _, honest = machines.lied_to()
    wanted = honest["order"][::-1]
    assert sorted(wanted) == list(range(P))
    _, told = machines.lied_to(order=wanted)
    assert told["order"] == []
    assert not any(answered(told, name, 2) for name in NAMES)
    assert "not the best one" in logged(machines.disk.service(A))[-1].detail
    with taken_over(machines, A, "follows"), taken_over(machines, B, "follows"), taken_over(machines, C, "follows"):
        _, told = machines.lied_to("fed-direct", order=wanted)
    assert told["order"] == wanted


def test_keys_of_its_own_show_the_sums_of_a_site_only_where_signatures_are_not_looked_at(machines):
    settings = machines.plan("fedrcd-ni", options={"masked": True}).settings
    planned = MaskedPlan(method="fedrcd-ni", settings=settings).over(machines.disk.federation, NAMES)
    folder, told = machines.lied_to("fedrcd-ni", keys=A)
    assert {one["refusal"] for one in told["learnt"] if one["site"] == A} >= {Refusal.RUN}
    assert not (folder / SUMS).exists()
    with taken_over(machines, A, "looks at no signature"):
        folder, told = machines.lied_to("fedrcd-ni", keys=A)
    mine = machines.disk.in_process((A,)).pool(planned.question)
    assert (folder / SUMS).read_bytes() == planned.asked.ring.to_bytes(planned.shape.vector([mine]))


def test_a_mean_of_its_own_tells_a_patient_only_where_the_rule_is_off(machines):
    """Last: a site that answered alone, in the clear, takes part in no masked run that would tell the others."""
    question = lie(machines.disk, machines.rows)
    refusal, data = machines.asked(question)
    assert (refusal, data) == (Refusal.CLEAR, b"")
    with taken_over(machines, A, "believes"):
        refusal, data = machines.asked(question)
    assert refusal is None
    found = rebuilt(question, from_bytes(data, EntropySums))
    np.testing.assert_allclose(found, machines.rows[FAR], rtol=1e-6, atol=1e-6)
