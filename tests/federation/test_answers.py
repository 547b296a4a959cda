"""RecordedAnswers that are kept until a run ends."""

import numpy as np
import pytest

from fedrcd.errors import FileError
from fedrcd.federation.coordinator.recorded_answers import RecordedAnswers
from fedrcd.federation.messages.requests import Reply
from fedrcd.protocol.wire import to_bytes
from fedrcd.statistics.exact_sums import exact_tensor_sums
from fedrcd.statistics.grid import Grid

SUMS = exact_tensor_sums([np.random.default_rng(0).normal(size=(9, 3))], 3, Grid())


def reply(site="a", run="r", digest="d"):
    return Reply(run, digest, site, "v", (("2021", SUMS), ("2022", None)))


def test_an_answer_is_found_again_to_the_bit(tmp_path):
    answers = RecordedAnswers(tmp_path / "run" / "answers.sqlite")
    assert answers.find("r", "d", "a") is None
    answers.record(reply())
    found = RecordedAnswers(answers.path).find("r", "d", "a")
    assert found.version == "v"
    assert [label for label, _ in found.blocks] == ["2021", "2022"]
    assert to_bytes(found.blocks[0][1]) == to_bytes(SUMS)
    assert found.blocks[1][1] is None
    for run, digest, site in (("s", "d", "a"), ("r", "e", "a"), ("r", "d", "b")):
        assert answers.find(run, digest, site) is None


def test_the_version_of_the_rows_is_remembered(tmp_path):
    answers = RecordedAnswers(tmp_path / "answers.sqlite")
    assert answers.version("r", "a") is None
    answers.record(reply())
    assert answers.version("r", "a") == "v"


def test_a_site_can_be_forgotten(tmp_path):
    answers = RecordedAnswers(tmp_path / "answers.sqlite")
    assert answers.forget("a") == 0
    answers.record(reply())
    answers.record(reply("b"))
    before = answers.path.read_bytes()
    assert answers.forget("a") == 1
    assert answers.find("r", "d", "a") is None
    assert answers.find("r", "d", "b") is not None
    body = to_bytes(SUMS)[-64:]
    assert before.count(body) == 2
    assert answers.path.read_bytes().count(body) == 1  # overwritten, not only unlinked


@pytest.mark.parametrize("at", [0.0, 0.4, 0.9])
def test_what_a_power_cut_damaged_is_asked_for_anew(tmp_path, at):
    answers = RecordedAnswers(tmp_path / "answers.sqlite")
    for k in range(20):
        answers.record(reply(digest=f"d{k}"))
    bytes_ = bytearray(answers.path.read_bytes())
    begin = int(at * len(bytes_))
    bytes_[begin : begin + 4096] = bytes(4096)
    answers.path.write_bytes(bytes_)
    answers.mend()
    answers.record(reply(digest="more"))
    for found in (answers.find("r", f"d{k}", "a") for k in range(20)):
        assert found is None or to_bytes(found.blocks[0][1]) == to_bytes(SUMS)
    assert answers.find("r", "more", "a") is not None


def test_a_body_that_is_not_the_one_that_was_written_is_not_believed(tmp_path):
    answers = RecordedAnswers(tmp_path / "answers.sqlite")
    answers.record(reply())
    body = to_bytes(SUMS)[-64:]
    answers.path.write_bytes(answers.path.read_bytes().replace(body, bytes(64)))
    answers.mend()
    assert answers.find("r", "d", "a") is None


def test_everything_can_be_deleted(tmp_path):
    answers = RecordedAnswers(tmp_path / "answers.sqlite")
    answers.record(reply())
    answers.delete()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "answers.sqlite").mkdir()
    with pytest.raises(FileError, match="cannot keep answers"):
        RecordedAnswers(tmp_path / "answers.sqlite").record(reply())
