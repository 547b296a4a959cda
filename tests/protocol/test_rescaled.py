import numpy as np
import pytest

from fedrcd.data.simulate.models import random_model
from fedrcd.methods.registry import METHODS, build
from fedrcd.protocol.changed_units import in_units, scaled_by_sd
from fedrcd.protocol.driver import run
from fedrcd.protocol.in_process import embed


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(4)
    model = random_model(6, noise="exponential", density=0.5, rng=rng)
    return model.names, model.sample(900, rng) + 3.0


def estimate(method, transport):
    return run(build(method).rounds(transport.setting), transport)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("power", [0.5, 1.0])
def test_scaling_at_the_coordinator_is_scaling_the_rows(method, power, rows):
    names, X = rows
    stack = METHODS[method].one_table
    ours = estimate(method, scaled_by_sd(embed(np.split(X, 3), names, stack=stack), power))
    theirs = estimate(method, embed(np.split(X / X.std(axis=0) ** power, 3), names, stack=stack))
    assert ours.order.tolist() == theirs.order.tolist()
    np.testing.assert_allclose(ours.B, theirs.B, atol=1e-8)
    np.testing.assert_allclose(ours.marginals.cov, theirs.marginals.cov, rtol=1e-9)


def test_no_scaling_leaves_the_transport_alone(rows):
    transport = embed([rows[1]], rows[0])
    assert scaled_by_sd(transport, 0.0) is transport
    assert transport.traffic.rounds == 0


def test_sites_are_asked_in_their_own_frame(rows):
    names, X = rows
    asked = []

    class Listening:
        setting = embed([X], names).setting
        traffic = None

        def pool(self, question):
            asked.append(question.frame)
            return embed([X], names).pool(question)

    estimate("fedrcd-ni", in_units(Listening(), np.full(6, 7.0)))
    assert asked == [Listening.setting.frame]
