import pytest

from fedrcd.methods.auto import Circumstances, choose
from fedrcd.methods.registry import METHODS


@pytest.mark.parametrize(
    ("circumstances", "method"),
    [
        (Circumstances(p=20, rows=20_000), "fedrcd-se"),
        (Circumstances(p=80, rows=20_000), "fedrcd-se"),
        (Circumstances(p=80, rows=20_000, seconds_per_round=5.0), "fedrcd-s"),
        (Circumstances(p=81, rows=200), "fed-direct"),
        (Circumstances(p=81, rows=20_000), "fedrcd-sx"),
        (Circumstances(p=20, rows=20_000, tensor_refused=True), "fedrcd-sx"),
        (Circumstances(p=20, rows=20_000, all_columns_somewhere=False), "fedrcd-sp"),
        (Circumstances(p=5, rows=200), "fedrcd-se"),
        (Circumstances(p=20, rows=20_000, far_apart=True), "fedrcd-r"),
        (Circumstances(p=5, rows=200, far_apart=True), "fedrcd-r"),
        (Circumstances(p=81, rows=20_000, far_apart=True), "fedrcd-sx"),
        (Circumstances(p=20, rows=20_000, far_apart=True, one_round=True), "fedrcd-s"),
        (Circumstances(p=20, rows=20_000, far_apart=True, seconds_per_round=5.0), "fedrcd-s"),
        (Circumstances(p=20, rows=20_000, far_apart=True, complete_rows=False), "fedrcd-s"),
        (Circumstances(p=5, rows=200, complete_rows=False), "fedrcd-s"),
        (Circumstances(p=5, rows=200, one_round=True), "fedrcd-s"),
        (Circumstances(p=81, rows=20_000, complete_rows=False), "fedrcd-sp"),
        (Circumstances(p=81, rows=20_000, one_round=True), "fedrcd-sp"),
        (Circumstances(p=5, rows=200, seconds_per_round=5.0), "fedrcd-s"),
    ],
)
def test_the_choice_follows_the_table(circumstances, method):
    assert choose(circumstances).method == method


@pytest.mark.parametrize("p", [5, 50, 100])
def test_every_choice_is_a_scale_free_method_with_a_reason_of_one_line(p):
    choice = choose(Circumstances(p=p, rows=10_000))
    assert METHODS[choice.method].scale_free
    assert choice.reason
    assert "\n" not in choice.reason
