"""What discoveries under noise have spent."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fedrcd
from fedrcd.api.privacy_account import charge, spent
from fedrcd.errors import ConfigError, FedrcdError, FileError
from fedrcd.statistics.privacy_loss import composed, epsilon_of, loss_within

NAMES = ("x1", "x2", "x3")
FRAME = dict.fromkeys(NAMES, (0.0, 1.0))
X = np.random.default_rng(0).laplace(size=(4000, 3))


@pytest.fixture
def account(tmp_path):
    return tmp_path / "spent.sqlite"


def tables():
    return [fedrcd.Table(part, name, name) for name, part in zip(("north", "south"), np.split(X, 2), strict=True)]


def test_what_is_spent_adds_up_over_discoveries(account):
    for epsilon in (1.0, 1.0, 2.0):
        fedrcd.discover(tables(), epsilon=epsilon, frame=FRAME, account=account)
    fedrcd.discover(tables()[:1], epsilon=1.0, frame=FRAME, account=account)
    north, south = spent(account, 1e-6)
    one, two = loss_within(1.0, 1e-6), loss_within(2.0, 1e-6)
    assert north == ("north", 4, pytest.approx(epsilon_of(composed([one, one, two, one]), 1e-6)))
    assert south == ("south", 3, pytest.approx(epsilon_of(composed([one, one, two]), 1e-6)))


def test_beyond_the_budget_nothing_is_asked_and_nothing_spent(account):
    how = {"epsilon": 1.0, "frame": FRAME, "account": account, "epsilon_budget": 1.5}
    fedrcd.discover(tables()[:1], **how)
    fedrcd.discover(tables(), **how)
    before = spent(account, 1e-6)
    with pytest.raises(ConfigError, match=r"north has spent epsilon 1.45 of its budget 1.5, and 1 more would make 1.8"):
        fedrcd.discover(tables(), **how)
    assert spent(account, 1e-6) == before


def test_what_is_refused_before_costs_nothing(account):
    with pytest.raises(ConfigError, match="epsilon does not go with trim"):
        fedrcd.discover(tables(), epsilon=1.0, frame=FRAME, account=account, trim=8)
    with pytest.raises(FedrcdError):
        fedrcd.discover(tables(), epsilon=1.0, frame={"x1": (0, 1)}, account=account)
    assert not account.exists()


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"epsilon_budget": 1.0}, "epsilon_budget needs an account"), ({"epsilon_budget": 0}, "epsilon_budget must be")],
)
def test_a_budget_that_cannot_be_kept_is_refused(options, reason):
    with pytest.raises(ConfigError, match=reason):
        fedrcd.discover(tables(), epsilon=1.0, frame=FRAME, **options)


def test_an_account_without_noise_is_no_option(account):
    with pytest.raises(ConfigError, match="account"):
        fedrcd.discover(tables(), "fedrcd-s", account=account)


def test_a_file_that_is_no_account_is_refused(account):
    account.write_text("something else")
    with pytest.raises(FileError):
        charge(account, ["north"], 1.0, 1e-6)
    with pytest.raises(FileError, match="there is no privacy account"):
        spent(account.with_name("other"), 1e-6)


def test_a_process_that_is_killed_after_a_charge_has_spent_it(account):
    """At the first question: whether it was answered, nobody knows."""
    program = (
        "import os, signal, sys, numpy as np, fedrcd\n"
        "from fedrcd.protocol.transport import InProcess\n"
        "InProcess.pool = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "frame = dict.fromkeys(('x1', 'x2', 'x3'), (0.0, 1.0))\n"
        "fedrcd.discover(np.random.default_rng(0).laplace(size=(500, 3)), epsilon=1, frame=frame, account=sys.argv[1])"
    )
    done = subprocess.run([sys.executable, "-c", program, account], check=False, timeout=60, env=dict(os.environ))
    assert done.returncode == -signal.SIGKILL
    assert [one.discoveries for one in spent(account, 1e-6)] == [1]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(0.05, 3), min_size=1, max_size=50), st.sampled_from([1e-5, 1e-7]))
def test_many_releases_cost_no_more_than_their_epsilons_and_no_less_than_the_largest(epsilons, delta):
    total = epsilon_of(composed([loss_within(one, delta) for one in epsilons]), delta)
    assert max(epsilons) * (1 - 1e-6) <= total <= sum(epsilons) * (1 + 1e-6)
