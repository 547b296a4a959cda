import pytest

from fedrcd.errors import ConfigError
from fedrcd.methods.registry import COMMON_OPTIONS, METHODS, build, find

PAIR_METHODS = [name for name in METHODS if "estimator" in METHODS[name].options]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("fedrcdx", "fedrcd-x"),
        ("fedrcd_ni", "fedrcd-ni"),
        ("FedRCD-X", "fedrcd-x"),
        ("directlingam", "direct-lingam"),
        ("fedisch", "fedishc"),
        ("AUTO", "auto"),
    ],
)
def test_a_mistyped_method_is_answered_with_the_one_meant(typed, meant):
    with pytest.raises(ConfigError, match=f"no method '{typed}'.*{meant}"):
        find(typed)


def test_a_method_like_no_other_is_answered_with_all():
    with pytest.raises(ConfigError) as caught:
        find("zzzzzz")
    assert all(name in str(caught.value) for name in ("auto", *METHODS))


def test_auto_is_no_method_where_nothing_chooses():
    with pytest.raises(ConfigError, match="nothing chooses a method here; instead of auto name one of fedrcd-s, "):
        find("auto")


@pytest.mark.parametrize("method", METHODS)
def test_an_unknown_option_is_named_with_those_that_exist(method):
    with pytest.raises(ConfigError, match=f"{method} has no option 'penalti'.*penalty"):
        build(method, penalti=1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("option", "value"), [("weights", "ridge"), ("penalty", -1.0)])
def test_a_wrong_value_of_a_common_option_is_named(method, option, value):
    with pytest.raises(ConfigError, match=rf"{option} must be .* got {value!r}"):
        build(method, **{option: value})


@pytest.mark.parametrize("method", PAIR_METHODS)
def test_a_wrong_estimator_is_named(method):
    with pytest.raises(ConfigError, match="estimator must be one of plug-in, unbiased, got 'biased'"):
        build(method, estimator="biased")


@pytest.mark.parametrize(
    ("method", "option"),
    [
        ("fedishc", "coefficient"),
        ("fedishc", "update"),
        ("fedishc-tau4", "coefficient"),
        ("fedishc-tau4", "update"),
        ("fedrcd-def", "marginals"),
        ("fedrcd-s", "negentropy"),
        ("fedrcd-sx", "negentropy"),
    ],
)
def test_a_wrong_value_of_a_methods_own_option_is_named(method, option):
    with pytest.raises(ConfigError, match=f"{option} must be one of .* got 'wrong'"):
        build(method, **{option: "wrong"})


@pytest.mark.parametrize("method", METHODS)
def test_options_that_are_not_given_keep_their_defaults(method):
    card = METHODS[method]
    chosen = "guarded" if card.scale_free else "adaptive-lasso"
    assert card.resolve({"penalty": 0.5}) == {**COMMON_OPTIONS, **card.options, "weights": chosen, "penalty": 0.5}


@pytest.mark.parametrize("method", METHODS)
def test_given_options_reach_the_weights(method):
    weights = build(method, weights="bic", penalty=0.5).weights
    assert (weights.selection, weights.penalty) == ("bic", 0.5)


@pytest.mark.parametrize("method", METHODS)
def test_scale_free_methods_and_no_others_select_on_correlations(method):
    assert build(method).weights.correlation == METHODS[method].scale_free


@pytest.mark.parametrize("method", PAIR_METHODS)
def test_the_estimator_reaches_the_deflation(method):
    assert build(method, estimator="unbiased").deflation.estimator == "unbiased"


@pytest.mark.parametrize("method", METHODS)
def test_a_summary_is_one_line(method):
    summary = METHODS[method].summary
    assert summary
    assert "\n" not in summary
