"""Order and effects over time agree with `lingam.VARLiNGAM`; many more series are compared by `make verify`."""

import pytest
from tests.verification.series import LAGS, SIZES, compared

pytestmark = pytest.mark.reference


@pytest.mark.parametrize("p", SIZES[:2])
@pytest.mark.parametrize("lags", LAGS)
def test_fed_direct_over_time_is_var_lingam(p, lags):
    same, difference = compared(p, lags, seed=100)
    assert same
    assert difference < 1e-6
