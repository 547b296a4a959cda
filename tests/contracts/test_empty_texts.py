"""Whatever a coordinator writes into its requests, a site can read its own log afterwards."""

from dataclasses import replace

import pytest

from fedrcd.federation.messages.refusals import Refusal
from fedrcd.federation.messages.requests import Request
from tests.federation.sites import NAMES, horizontal, logged


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"federation": ""}, Refusal.FEDERATION),
        ({"run": ""}, None),
        ({"run": "", "federation": "", "site": ""}, Refusal.FEDERATION),
        ({"cohort": ()}, Refusal.MESSAGE),
    ],
    ids=str,
)
def test_an_empty_text_in_a_request_does_not_spoil_the_log(tmp_path, changes, refusal):
    disk = horizontal(tmp_path, p=4)
    site, question = disk.service(NAMES[0]), disk.in_process().setting.pairs(4)
    request = Request("r1", 1, disk.digest, NAMES[0], NAMES, question)
    assert site.reply(replace(request, **changes)).refusal is refusal
    assert site.reply(request).refusal is None
    assert len(logged(site)) == 2
