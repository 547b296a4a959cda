import subprocess
import sys
from importlib.metadata import version

import pytest

import fedrcd

LOADED = """
import sys
import fedrcd
print(*sorted({name.split(".")[0] for name in sys.modules}))
"""


@pytest.fixture(scope="module")
def loaded():
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("package", ["pandas", "sklearn", "scipy", "networkx", "pyarrow", "numpy"])
def test_importing_the_package_loads_no_heavy_one(loaded, package):
    assert package not in loaded


def test_public_names_are_there():
    assert set(fedrcd.__all__) <= set(dir(fedrcd))
    for name in fedrcd.__all__:
        assert getattr(fedrcd, name) is not None


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'discovery'"):
        fedrcd.discovery  # noqa: B018


def test_the_version_is_that_of_the_installed_package():
    assert version("fedrcd") == fedrcd.__version__
