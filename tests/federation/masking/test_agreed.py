"""What runs of several rounds are given: as the federation file has it, or as a person at the site approves."""

from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

import pytest

from fedrcd import Knowledge
from fedrcd.data.agreed import Agreed
from fedrcd.data.federation import read_federation, write_federation
from fedrcd.errors import ConfigError, ProtocolError
from fedrcd.federation.masking.plan import MaskedPlan
from fedrcd.federation.messages.requests import federation_digest
from fedrcd.methods.registry import build
from fedrcd.protocol.driver import run
from tests.federation.masking.machines import Relay, apart, conducted, keyed, with_keys

KNOWN = Knowledge(tiers=[["x3"], ["x1", "x2"]])
OTHER = Knowledge(tiers=[["x2"], ["x1", "x3"]])


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return keyed(tmp_path_factory.mktemp("federation"), p=3, rows=(400, 410, 420))


def agreeing(tables, folder, **said):
    """The federation, whose file says what is agreed on."""
    disk = apart(tables, folder)
    disk.federation = replace(disk.federation, agreed=Agreed(**said))
    write_federation(disk.file, disk.federation)
    return with_keys(disk, folder)


def test_knowledge_in_the_file_is_taken_and_has_the_bits_of_one_process(tables, tmp_path):
    disk = agreeing(tables, tmp_path, knowledge=KNOWN)
    found = conducted(disk, Relay(disk), "fed-direct", knowledge=KNOWN)
    transport = disk.in_process()
    expected = run(build("fed-direct").rounds(transport.setting.knowing(KNOWN)), transport)
    assert found.estimate.order.tolist()[0] == 2
    assert found.estimate.B.tobytes() == expected.B.tobytes()


@contextmanager
def whatever_is_given():
    """The rule switched off."""
    with patch.object(MaskedPlan, "given", property(lambda _: Agreed(KNOWN))):
        yield


GIVEN = {
    "other knowledge": {"knowledge": OTHER},
    "none": {},
    "an option": {"knowledge": KNOWN, "options": {"scoring": "pairwise"}},
    "other rows": {"knowledge": KNOWN, "within": "centre"},
}


@pytest.mark.parametrize("given", ["other knowledge", "none", "other rows"])
def test_anything_else_is_answered_only_with_the_rule_off(tables, tmp_path, given):
    disk = agreeing(tables, tmp_path, knowledge=KNOWN)
    with pytest.raises(ProtocolError, match="as the federation file has them"):
        conducted(disk, Relay(disk), "fedrcd-x", **GIVEN[given])
    with whatever_is_given():
        found = conducted(disk, Relay(disk), "fedrcd-x", run="r2", **GIVEN[given])
    assert len(found.estimate.order) == 3


def test_one_round_may_be_given_anything(tables, tmp_path):
    disk = agreeing(tables, tmp_path, knowledge=KNOWN)
    assert conducted(disk, Relay(disk), "fedrcd-ni", knowledge=OTHER).estimate.order.tolist()[0] == 1


def test_the_file_is_read_as_it_was_written_and_tells_what_is_wrong(tables, tmp_path):
    agreed = Agreed(KNOWN, {"a \x7f": "b", "c": 0.5, "d": True}, "centre")
    described, path = replace(tables.federation, agreed=agreed), tmp_path / "federation.toml"
    write_federation(path, described)
    assert read_federation(path) == described
    digests = {federation_digest(one) for one in (described, tables.federation, replace(described, agreed=Agreed()))}
    assert len(digests) == 2
    text = path.read_text()
    for wrong, told in (
        (text.replace("tiers", "teirs"), "unknown key 'teirs'; did you mean 'tiers'"),
        (text.replace('[["x3"]', '[["x9"]'), "x9"),
        (text.replace('"centre"\n', '"auto"\n'), "within: must be one of"),
    ):
        path.write_text(wrong)
        with pytest.raises(ConfigError, match=told):
            read_federation(path)
