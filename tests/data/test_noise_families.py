import math

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import trapezoid

from fedrcd.data.simulate.noise import NOISE_FAMILIES, PURE_FAMILIES, REGIMES, Noise, noise, noise_per_variable
from fedrcd.errors import ConfigError

SCIPY = {
    "pareto": stats.pareto(5),
    "logistic": stats.logistic(),
    "uniform": stats.uniform(),
    "laplace": stats.laplace(),
    "poisson": stats.poisson(1),
    "exponential": stats.expon(),
    "student-t": stats.t(5),
    "gamma": stats.gamma(2),
    "gaussian": stats.norm(),
    "generalised-normal": stats.gennorm(1.5),
}
LIGHT_TAILED = ["logistic", "uniform", "laplace", "poisson", "exponential", "gamma", "gaussian", "generalised-normal"]


@pytest.mark.parametrize("name", SCIPY)
def test_cumulants_are_the_skewness_and_excess_kurtosis_of_scipy(name):
    assert noise(name).cumulants() == pytest.approx(tuple(map(float, SCIPY[name].stats("sk"))), abs=1e-12)


@pytest.mark.parametrize(
    ("name", "density", "support"),
    [
        ("gaussian-cubed", stats.norm.pdf, (-40, 40)),
        ("exponential-cubed", stats.expon.pdf, (0, 200)),
    ],
)
def test_cumulants_of_cubes_agree_with_numerical_integration(name, density, support):
    grid = np.linspace(*support, 400_001)
    m = [trapezoid(grid ** (3 * r) * density(grid), grid) for r in range(5)]
    central = [sum(math.comb(r, k) * m[k] * (-m[1]) ** (r - k) for k in range(r + 1)) for r in range(5)]
    expected = central[3] / central[2] ** 1.5, central[4] / central[2] ** 2 - 3
    assert noise(name).cumulants() == pytest.approx(expected, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("name", [*PURE_FAMILIES, "gaussian", "generalised-normal"])
def test_draws_have_mean_zero_and_variance_one(name):
    n = 400_000
    values = Noise(name).draw(n, np.random.default_rng(1))
    kurtosis = 3 + Noise(name).cumulants()[1]
    assert values.shape == (n,)
    assert values.dtype == np.float64
    assert abs(values.mean()) < 5 / math.sqrt(n)
    assert abs(values.var() - 1) < 5 * math.sqrt((kurtosis - 1) / n)


@pytest.mark.parametrize("name", LIGHT_TAILED)
def test_sample_cumulants_approach_the_population_ones(name):
    values = Noise(name).draw(400_000, np.random.default_rng(2))
    k3, k4 = Noise(name).cumulants()
    assert stats.skew(values) == pytest.approx(k3, abs=0.05)
    assert stats.kurtosis(values) == pytest.approx(k4, abs=0.3)


@pytest.mark.parametrize(
    ("law", "reference"),
    [
        (noise("pareto", shape=7), stats.pareto(7)),
        (noise("student-t", df=9), stats.t(9)),
        (noise("gamma", shape=0.5), stats.gamma(0.5)),
        (noise("poisson", rate=30), stats.poisson(30)),
    ],
)
def test_parameters_change_the_law(law, reference):
    assert law.cumulants() == pytest.approx(tuple(map(float, reference.stats("sk"))))


def test_cumulants_that_do_not_exist_are_infinite():
    assert noise("pareto", shape=3.5).cumulants()[1] == math.inf
    assert math.isfinite(noise("pareto", shape=3.5).cumulants()[0])
    assert noise("pareto", shape=3).cumulants() == (math.inf, math.inf)
    assert noise("student-t", df=4).cumulants() == (0.0, math.inf)
    assert noise("student-t", df=3).cumulants() == (math.inf, math.inf)


def test_large_shapes_do_not_cancel_to_noise():
    assert noise("pareto", shape=1e6).cumulants() == pytest.approx((2, 6), rel=1e-4)
    assert noise("poisson", rate=1e6).cumulants() == pytest.approx((1e-3, 1e-6))


@pytest.mark.parametrize(("name", "parameter"), [("pareto", "shape"), ("student-t", "df"), ("poisson", "rate")])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_a_parameter_without_a_variance_is_refused(name, parameter, value):
    with pytest.raises(ConfigError, match=f"{parameter} of the {name} family must be finite and above"):
        noise(name, **{parameter: value})


def test_a_wrong_name_brings_the_nearest_one():
    with pytest.raises(ConfigError, match=r"no noise family 'laplce'.*did you mean 'laplace'"):
        noise("laplce")


def test_a_wrong_parameter_brings_the_right_one():
    with pytest.raises(ConfigError, match="its parameter is 'shape'"):
        noise("pareto", alpha=3)
    with pytest.raises(ConfigError, match="it has no parameters"):
        noise("uniform", low=0)
    with pytest.raises(ConfigError, match="no parameter, got 2"):
        Noise("uniform", 2.0)


def test_mixed_is_not_one_law():
    with pytest.raises(ConfigError, match="one family per variable"):
        noise("mixed")


def test_the_mixed_setting_draws_from_all_ten_families():
    laws = noise_per_variable("mixed", 500, rng=np.random.default_rng(0))
    assert {law.name for law in laws} == set(PURE_FAMILIES)


def test_a_pure_setting_gives_every_variable_the_same_law():
    laws = noise_per_variable("gamma", 3, rng=np.random.default_rng(0))
    assert laws == (noise("gamma"),) * 3


def test_the_regimes_divide_the_eleven_families_of_the_paper():
    assert len(NOISE_FAMILIES) == 11
    assert sorted(NOISE_FAMILIES) == sorted(name for family in REGIMES.values() for name in family)
