"""Runs under noise over machines: each site adds its own at its door, once, and writes down what it spends."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from fedrcd.cli.main import app
from fedrcd.errors import ConfigError, ProtocolError
from fedrcd.federation.coordinator.masked import MaskedTransport
from fedrcd.federation.site.noise_rules import loss_spent
from fedrcd.methods.deflations.noisy_directions import WHITENINGS
from fedrcd.methods.registry import build
from fedrcd.protocol.driver import run
from fedrcd.statistics.privacy_loss import epsilon_of, loss_within
from tests.federation.masking.machines import Relay, apart, conducted
from tests.federation.noise.machines import discovered, foreseen, in_the_clear, private, relay, with_budget
from tests.federation.sites import logged

ROUNDS, DELTA = len(WHITENINGS) + 1, 1e-6


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return private(tmp_path_factory.mktemp("federation"), p=3, rows=(2000, 2100, 2200))


@pytest.fixture
def disk(tables, tmp_path):
    """The federation with stores and results of this test's own."""
    return with_budget(apart(tables, tmp_path))


def entries(disk, site="hospital-a"):
    return logged(disk.service(site))


def spent(disk):
    """Epsilon that every site has spent."""
    return [epsilon_of(loss_spent(entries(disk, site.name)), DELTA) for site in disk.federation.sites]


def bits(estimate):
    return estimate.order.tolist(), estimate.B.tobytes(), estimate.marginals.cov.tobytes()


def in_one_process(disk, seed, part):
    """What is found where all sites are in one process, and draw the same random bytes."""
    transport = disk.in_process()
    sites = [replace(site, random=foreseen([seed, k])) for k, site in enumerate(transport.sites)]
    setting = replace(transport.setting, noise_part=part, noise_parts=3)
    return run(build("fedrcd-dp", epsilon=3.0).rounds(setting), replace(transport, sites=sites, setting=setting))


def test_every_site_is_charged_for_the_whole_run(disk):
    found = discovered(disk, relay(disk))
    assert (found.method, found.rounds) == ("fedrcd-dp", ROUNDS)
    assert spent(disk) == pytest.approx([3.0] * 3, rel=1e-6)


def test_in_the_clear_every_site_adds_all_of_the_noise(disk):
    found = discovered(disk, in_the_clear(disk), masked=False)
    other = with_budget(apart(disk, disk.folder / "masked"))
    masked = discovered(other, relay(other))
    assert found.rounds == ROUNDS
    assert spent(disk)[0] == pytest.approx(3.0, rel=1e-6)
    assert found.estimate.marginals.noise == pytest.approx(2 * masked.estimate.marginals.noise, rel=0.2)


@pytest.mark.parametrize("masked", [True, False])
def test_a_run_over_machines_has_the_bits_of_one_process_with_the_same_noise(disk, masked):
    found = discovered(disk, relay(disk, 7) if masked else in_the_clear(disk, 7), masked=masked)
    assert bits(found.estimate) == bits(in_one_process(disk, 7, 1 / 2 if masked else 1.0))


@pytest.mark.parametrize("masked", [True, False])
def test_the_same_again_is_the_same_noise_and_costs_nothing(disk, masked):
    def once(folder):
        return discovered(disk, relay(disk) if masked else in_the_clear(disk), masked=masked, folder=folder)

    first, again = once("first"), once("again")
    assert bits(first.estimate) == bits(again.estimate)
    assert spent(disk) == pytest.approx([3.0] * 3, rel=1e-6)


def test_another_epsilon_is_fresh_noise_and_is_paid_for(disk):
    first = discovered(disk, relay(disk), folder="first")
    again = discovered(disk, relay(disk), 2.0, folder="again")
    assert bits(first.estimate) != bits(again.estimate)
    assert 3.0 < spent(disk)[0] < 5.0


def test_other_rows_are_fresh_noise_and_add_to_what_was_spent(disk, tmp_path):
    discovered(disk, relay(disk), folder="first")
    grown = tmp_path / "grown.parquet"
    table = pd.read_parquet(disk.data("hospital-a"))
    pd.concat([table, table.iloc[:1]]).to_parquet(grown, index=False)
    plain = disk.data
    disk.data = lambda name: grown if name == "hospital-a" else plain(name)
    discovered(disk, relay(disk), folder="again")
    assert spent(disk) == pytest.approx([epsilon_of(2**0.5 * loss_within(3.0, DELTA), DELTA)] * 3, rel=0.01)


def test_a_run_beyond_the_budget_is_refused_before_anything_is_spent(disk):
    with pytest.raises(ProtocolError, match="budget of privacy loss does not suffice"):
        discovered(disk, relay(disk, epsilon_budget=2.0))
    assert spent(disk) == [0.0] * 3
    assert not any("\n" in entry.detail for entry in entries(disk))


def test_one_site_that_offers_no_noise_stops_the_run_before_anything_is_spent(disk):
    carries = relay(disk)
    carries.services["hospital-b"] = disk.service("hospital-b", epsilon_budget=0.0)
    with pytest.raises(ProtocolError, match="'hospital-b' refused: sums leave it with noise or without it"):
        discovered(disk, carries)
    assert spent(disk) == [0.0] * 3


def test_nothing_leaves_without_noise_where_there_is_a_budget(disk):
    with pytest.raises(ProtocolError, match="with noise or without it, never both"):
        conducted(disk, Relay(disk), "fedrcd-s")


def test_what_left_without_noise_is_not_offered_with_it(disk):
    conducted(disk, Relay(disk, epsilon_budget=0.0), "fedrcd-s")
    with pytest.raises(ProtocolError, match="with noise or without it, never both"):
        discovered(disk, relay(disk), folder="again")
    assert spent(disk) == [0.0] * 3


def test_what_left_with_noise_is_not_offered_without_even_if_the_budget_is_taken_away(disk):
    discovered(disk, relay(disk))
    with pytest.raises(ProtocolError, match="with noise or without it, never both"):
        conducted(disk, Relay(disk, epsilon_budget=0.0), "fedrcd-s", folder=str(disk.folder / "again"))


def test_a_coordinator_that_was_killed_goes_on_with_the_noise_that_was_drawn(disk, monkeypatch):
    real = MaskedTransport.pool

    def killed(self, question):
        if len(self.rounds) == 2:
            raise KeyboardInterrupt
        return real(self, question)

    with monkeypatch.context() as patched:
        patched.setattr(MaskedTransport, "pool", killed)
        with pytest.raises(KeyboardInterrupt):
            discovered(disk, relay(disk))
    resumed = discovered(disk, relay(disk))
    again = discovered(disk, relay(disk), folder="again")
    assert bits(resumed.estimate) == bits(again.estimate)
    assert spent(disk) == pytest.approx([3.0] * 3, rel=1e-6)


def test_a_colluding_site_that_says_its_noise_leaves_all_of_it_over_the_others(disk):
    """What is seen of two sites is as noisy as the loss asks for, whatever the third one tells."""
    from fedrcd.federation.masking.plan import MaskedPlan

    plan = MaskedPlan(method="fedrcd-dp", settings=disk.plan("fedrcd-dp", options={"epsilon": 3.0}).settings)
    setting = plan.setting(disk.federation, [site.name for site in disk.federation.sites])
    assert setting.noise_part * (setting.noise_parts - disk.federation.colluding) == 1.0


@pytest.mark.parametrize(
    ("epsilon", "reason"), [(0, "epsilon must be a number above 0"), (-1.0, "above 0"), (float("nan"), "above 0")]
)
def test_epsilons_that_make_no_sense_are_refused_in_one_line(disk, epsilon, reason):
    with pytest.raises(ConfigError, match=reason) as caught:
        discovered(disk, relay(disk), epsilon)
    assert "\n" not in str(caught.value)
    assert spent(disk) == [0.0] * 3


def test_two_sites_are_too_few_for_masks_and_nothing_is_spent(tmp_path):
    disk = private(tmp_path, p=3, rows=(500, 500), names=("hospital-a", "hospital-b"))
    with pytest.raises(ConfigError, match="masks hide nobody among 2 sites"):
        discovered(disk, relay(disk))
    assert spent(disk) == [0.0] * 2


def test_the_budget_is_shown_at_the_site(disk):
    discovered(disk, relay(disk))
    disk.settings("hospital-a").write(disk.state("hospital-a") / "site.json")
    command = ["site", "budget", "--name", "hospital-a", "--federation", str(disk.file), "--json"]
    command += ["--data", str(disk.data("hospital-a")), "--state", str(disk.state("hospital-a"))]
    shown = json.loads(CliRunner().invoke(app, command).stdout)["noise"]
    assert (shown["budget"], shown["answers"]) == (8.0, ROUNDS)
    assert shown["spent"] == pytest.approx(3.0, rel=1e-6)


def neighbours(folder):
    """Pairs of tables that differ in one row, each near something that rules without noise look at."""
    rng = np.random.default_rng(5)
    plain = pd.DataFrame(rng.normal(size=(101, 3)), columns=["x1", "x2", "x3"])
    flag = plain.assign(x1=[1.0] * 11 + [0.0] * 90)
    far = plain.copy()
    far.loc[0] = [1e9, -1e12, 3.0]
    gap = plain.copy()
    gap.loc[0, "x2"] = np.nan
    few = plain.iloc[:3]
    for name, table in {"at the least": plain, "rare": flag, "far": far, "gap": gap, "few": few}.items():
        yield name, (table, table.iloc[1:])


def path_through(tables, folder, seed):
    """What others see of a run beside the numbers: codes, sizes, notes; and which messages went to and fro."""
    disk = private(folder, p=3, rows=(100, 2100, 2200))
    tables.to_parquet(disk.data("hospital-a"), index=False)
    said, carries = [], relay(disk, seed)
    try:
        discovered(disk, carries, said=said)
        outcome = "found"
    except ProtocolError as problem:
        outcome = str(problem)
    seen = []
    for site, asked, reply in carries.sent:
        blocks = [(one.label, one.rows, one.left_out, one.unlike, one.few) for one in getattr(reply, "blocks", ())]
        numbers = len(getattr(reply, "vector", ()))
        seen.append(
            (site, type(asked).__name__, type(reply).__name__, getattr(reply, "refusal", None), blocks, numbers)
        )
    return outcome, said, seen


@pytest.mark.parametrize("case", range(5))
def test_two_neighbouring_tables_take_the_same_path_through_the_program(tmp_path, case):
    _, (one, other) = list(neighbours(tmp_path))[case]
    with_row = path_through(one, tmp_path / "one", 3)
    without = path_through(other, tmp_path / "other", 3)
    assert with_row == without
    assert with_row[0] == "found"


def test_without_noise_the_same_neighbours_are_told_apart(tmp_path):
    """The attack: whether a site answers says whether the row is there."""
    outcomes = []
    for number, table in enumerate(dict(neighbours(tmp_path))["at the least"]):
        disk = private(tmp_path / str(number), p=3, rows=(100, 2100, 2200))
        table.iloc[: 100 - number].to_parquet(disk.data("hospital-a"), index=False)
        try:
            conducted(disk, Relay(disk, epsilon_budget=0.0), "fedrcd-ni")
            outcomes.append("found")
        except ProtocolError:
            outcomes.append("refused")
    assert outcomes == ["found", "refused"]
