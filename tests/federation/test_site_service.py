"""A site: answers like the reference, under its rules, and lets nothing else out."""

import json
import re
import sqlite3
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fedrcd.api.membership import erase, membership, send
from fedrcd.data.read import write_table
from fedrcd.data.site_file import read_site
from fedrcd.data.table import Table
from fedrcd.errors import ConfigError, FileError
from fedrcd.federation.ledger.configuration import configure
from fedrcd.federation.messages.refusals import Refusal
from fedrcd.federation.messages.requests import Request, pack_request, unpack_reply
from fedrcd.federation.rules import Rules
from fedrcd.federation.site import service as site_service
from fedrcd.federation.site.disclosure import allowance
from fedrcd.federation.site.erasure import strike_rows
from fedrcd.federation.site.secret import group_key, read_secret, write_secret
from fedrcd.federation.site.service import SiteService
from fedrcd.federation.site.settings import SiteSettings
from fedrcd.federation.site.store import FILE
from fedrcd.methods.deflations.entropies import standardised_residuals
from fedrcd.protocol.entropy_question import EntropyQuestion
from fedrcd.protocol.groups import GroupedQuestion, Grouping
from fedrcd.protocol.moment_questions import SiteMomentsQuestion
from fedrcd.protocol.pair_question import PairQuestion
from fedrcd.protocol.questions import Basis
from fedrcd.protocol.residual_question import ResidualQuestion
from fedrcd.protocol.site import LocalSite
from fedrcd.protocol.tensor_question import TensorQuestion
from fedrcd.protocol.wire import Packet, to_bytes
from fedrcd.statistics.expectation import Gaussian
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import ARITHMETIC
from fedrcd.statistics.residual_maps import residual_map
from tests.federation.sites import NAMES, OnDisk, horizontal, logged

EXACT = ARITHMETIC["exact"]


@pytest.fixture
def disk(tmp_path):
    return horizontal(tmp_path)


def question(disk, order=4):
    return PairQuestion(disk.federation.variables, disk.federation.declared_frame(), order, grid=EXACT)


def request(disk, **changes):
    asked = Request("r1.0", 1, disk.digest, "hospital-a", NAMES, question(disk))
    return replace(asked, **changes)


def outcomes(service):
    return [entry.outcome for entry in logged(service)]


def held(service):
    with service.store() as store:
        return store.approvals.held()


def decide(service, begins, decision):
    with service.store() as store:
        store.decide(begins, decision, who="Ada")


def test_an_answer_is_that_of_the_reference_to_the_bit(disk):
    reply = unpack_reply(disk.service("hospital-a").respond(pack_request(request(disk))))
    reference = disk.in_process().sites[0].answer(question(disk))
    [(label, sums)] = reply.blocks
    assert label == "hospital-a"
    assert to_bytes(sums) == to_bytes(reference)
    assert reply.digest == request(disk).digest


def test_what_left_is_in_the_log_before_it_leaves(disk):
    service = disk.service("hospital-a")
    service.reply(request(disk, round=3))
    [entry] = logged(service)
    assert (entry.outcome, entry.round, entry.block, entry.rows, entry.variables) == (
        "answered",
        3,
        "hospital-a",
        400,
        5,
    )
    assert entry.numbers == 1 + 4 * 5 + 10 * 6  # the count, four powers of each, six products of each pair
    assert entry.digest == request(disk).digest


def test_nothing_leaves_when_the_log_cannot_be_written(disk):
    service = disk.service("hospital-a")
    (disk.state("hospital-a") / FILE).mkdir(parents=True)
    reply = service.reply(request(disk))
    assert reply.refusal is Refusal.DATA
    assert reply.blocks == ()


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"federation": "0" * 64}, Refusal.FEDERATION),
        ({"site": "hospital-b"}, Refusal.NAME),
        ({"cohort": ("hospital-b",)}, Refusal.MESSAGE),
        ({"cohort": NAMES[::-1]}, Refusal.MESSAGE),
        ({"cohort": (*NAMES, "hospital-z")}, Refusal.MESSAGE),
    ],
)
def test_questions_for_others_are_refused(disk, changes, code):
    service = disk.service("hospital-a")
    assert service.reply(request(disk, **changes)).refusal is code
    assert outcomes(service) == [code.value]


def test_a_message_that_is_none_is_refused(disk):
    reply = unpack_reply(disk.service("hospital-a").respond(Packet({"hello": "world"}, ())))
    assert reply.refusal is Refusal.MESSAGE


def test_a_rule_that_refuses_is_logged_with_its_reason(disk):
    service = disk.service("hospital-a", rules=Rules(rows=401))
    assert service.reply(request(disk)).refusal is Refusal.ROWS
    [entry] = logged(service)
    assert entry.detail == "400 complete rows; 401 are needed for 5 columns"


def test_the_budget_is_kept_over_runs(disk):
    service = disk.service("hospital-a")
    tensor = TensorQuestion(disk.federation.variables, disk.federation.declared_frame(), grid=EXACT)
    spent = 0
    orders = [request(disk, run=f"r{k}", question=question(disk, order)) for k, order in enumerate((4, 3, 2, 1))]
    for asked in [*orders, request(disk, run="t", question=tensor)]:
        assert service.reply(asked).refusal is None
    spent = sum(entry.numbers for entry in logged(service))
    tight = replace(service.settings, rules=Rules(share=(spent - 1) / (400 * 5)))
    coarse = request(disk, run="u", question=replace(tensor, grid=ARITHMETIC["compact"]))
    assert SiteService(tight).reply(coarse).refusal is Refusal.BUDGET
    assert SiteService(tight).reply(request(disk, run="again")).refusal is None  # an old answer costs nothing


def test_a_restarted_site_gives_the_same_answer_and_version(disk):
    first = disk.service("hospital-a").reply(request(disk))
    again = disk.service("hospital-a").reply(request(disk))
    assert to_bytes(first.blocks[0][1]) == to_bytes(again.blocks[0][1])
    assert first.version == again.version != ""


def test_the_version_changes_with_the_edition_and_with_the_site(disk, tmp_path):
    version = disk.service("hospital-a").reply(request(disk)).version
    twin = horizontal(tmp_path / "twin")
    assert twin.service("hospital-a").reply(request(twin)).version != version  # another secret: nobody can compare
    rows = disk.in_process_rows("hospital-a")
    for more, changes in ((49, False), (50, True)):
        new = np.concatenate([rows, np.random.default_rng(more).normal(size=(more, 5))])
        write_table(disk.data("hospital-a"), Table(new, columns=disk.federation.variables, source="t"))
        later = disk.service("hospital-a").reply(replace(request(disk), run=f"with {more} more"))
        assert (later.version != version) is changes


def test_no_text_of_an_exception_leaves(disk, monkeypatch):
    secret = "patient 4711 has 3.14159"

    def fail(*_, **__):
        raise RuntimeError(secret)

    monkeypatch.setattr(site_service, "read_tables", fail)
    service = disk.service("hospital-a")
    packet = service.respond(pack_request(request(disk)))
    assert secret not in json.dumps(packet.header)
    assert packet.arrays == ()
    assert unpack_reply(packet).refusal is Refusal.FAILED
    [entry] = logged(service)
    assert secret in entry.detail  # where people at the site find it


@pytest.mark.parametrize("content", [b"", b"not a table", None])
def test_a_broken_table_is_a_code_at_the_coordinator_and_a_reason_at_the_site(disk, content):
    if content is None:
        disk.data("hospital-a").unlink()
    else:
        disk.data("hospital-a").write_bytes(content)
    service = disk.service("hospital-a")
    packet = service.respond(pack_request(request(disk)))
    assert unpack_reply(packet).refusal is Refusal.DATA
    assert "hospital-a.parquet" not in json.dumps(packet.header)
    assert "hospital-a.parquet" in logged(service)[0].detail


def test_rows_with_missing_values_are_left_out(disk):
    rows = disk.in_process_rows("hospital-a")
    rows[:7, 2] = np.nan
    write_table(disk.data("hospital-a"), Table(rows, columns=disk.federation.variables, source="t"))
    [(_, sums)] = disk.service("hospital-a").reply(request(disk)).blocks
    assert sums.low.count.shape == (1, 1)
    assert int(sums.low.count[0, 0]) == 393


def test_an_answer_waits_for_a_person(disk):
    service = disk.service("hospital-a", approve=True)
    for _ in range(2):
        assert service.reply(request(disk)).refusal is Refusal.WAITING
    assert logged(service) == []  # nothing left
    [pending] = held(service)
    assert "every pair of 5 variables" in pending.question
    assert pending.numbers == 81
    decide(service, pending.digest[:8], "approved")
    assert service.reply(request(disk)).refusal is None
    assert outcomes(service) == ["decided", "answered"]
    assert service.reply(request(disk, question=question(disk, 3))).refusal is Refusal.WAITING  # another question


@pytest.mark.parametrize("away", [0.0, 3.0])
def test_the_person_sees_how_far_the_moments_of_a_question_are_from_the_own(disk, away):
    """What attack 1 and an honest question differ in: without it both are shown in the same words."""
    frame = disk.federation.declared_frame()
    rows = frame.express(disk.in_process().sites[0].rows.values)
    mean, cov = rows.mean(axis=0), np.cov(rows.T, bias=True)
    mean[2] += away * rows[:, 2].std()
    asked = ResidualQuestion(disk.federation.variables, frame, Basis(Gaussian(mean, cov), (0, 1, 2, 3, 4)))
    service = disk.service("hospital-a", approve=True)
    assert service.reply(request(disk, question=asked)).refusal is Refusal.WAITING
    [pending] = held(service)
    away_in_words = re.search(r"means up to (\S+) standard deviations", pending.detail)[1]
    assert float(away_in_words) == pytest.approx(away, abs=0.01)
    assert "variances up to 1 times" in pending.detail


def test_a_person_can_refuse(disk):
    service = disk.service("hospital-a", approve=True)
    service.reply(request(disk))
    decide(service, "", "refused")
    assert service.reply(request(disk)).refusal is Refusal.APPROVAL
    with pytest.raises(ConfigError, match="waiting: none"):
        decide(service, "", "approved")


def test_rules_can_only_be_made_stricter(disk):
    for rules in (Rules(rows=99), Rules(share=0.6), Rules(cell=3), Rules(levels=4)):
        with pytest.raises(ConfigError, match="stricter"):
            disk.settings("hospital-a", rules=rules)


def test_settings_come_back(disk, tmp_path):
    settings = disk.settings("hospital-a", approve=True, rules=Rules(rows=250))
    settings.write(tmp_path / "site.json")
    assert SiteSettings.read(tmp_path / "site.json") == settings
    with pytest.raises(FileError, match="site serve"):
        SiteSettings.read(tmp_path / "no.json")


def test_the_secret_of_a_site_is_its_own(disk):
    service = disk.service("hospital-a")
    service.reply(request(disk))
    assert (disk.state("hospital-a") / FILE).stat().st_mode & 0o077 == 0
    secrets = disk.secrets()
    assert len(set(secrets.values())) == len(secrets) == 3
    assert disk.secrets() == secrets


def test_a_frame_is_declared_for_all_variables_or_not_at_all(disk):
    assert isinstance(disk.federation.declared_frame(), Frame)
    assert replace(disk.federation, frame={"x1": disk.federation.frame["x1"]}).declared_frame() is None


def test_rows_are_split_by_a_secret_that_stays(tmp_path):
    disk = horizontal(tmp_path, rows=(1500, 500, 500))
    asked = request(disk, question=GroupedQuestion(question(disk), 10))
    first, again = (disk.service("hospital-a").reply(asked) for _ in range(2))
    assert to_bytes(first.blocks[0][1]) == to_bytes(again.blocks[0][1])
    assert [entry.outcome for entry in logged(disk.service("hospital-a"))] == ["answered", "repeated"]
    connection = sqlite3.connect(disk.state("hospital-a") / FILE)
    with connection:  # another secret: then no rows are split as they were, and none are split otherwise
        connection.execute("UPDATE settings SET value = ? WHERE name = 'secret'", (bytes(32),))
    connection.close()
    assert disk.service("hospital-a").reply(replace(asked, run="later")).refusal is Refusal.SPLIT


def test_a_secret_of_others_is_for_shared_rows_only(tmp_path):
    disk = horizontal(tmp_path, rows=(1500, 500, 500))
    asked = request(disk, question=GroupedQuestion(question(disk), 10))
    write_secret(tmp_path / "shared")
    own = disk.service("hospital-a").reply(asked)
    shared = disk.service("hospital-a", group_secret=str(tmp_path / "shared")).reply(asked)
    assert to_bytes(own.blocks[0][1]) == to_bytes(shared.blocks[0][1])


def test_the_same_answer_to_other_sites_costs_nothing(disk):
    service = disk.service("hospital-a")
    for cohort in (NAMES, NAMES[:2], NAMES[:1]):
        assert service.reply(request(disk, cohort=cohort)).refusal is None
    history = logged(service)
    assert len({entry.digest for entry in history}) == 3
    assert allowance(history, [], history[0].version, 10**6).spent == history[0].numbers


def test_sums_that_overflow_do_not_leave(disk):
    huge = TensorQuestion(disk.federation.variables, disk.federation.declared_frame())
    frame = Frame(np.zeros(5), np.full(5, 1e-200))
    federation = replace(disk.federation, frame={})
    twin = OnDisk(disk.folder / "twin", federation, {})
    twin.data = disk.data
    service = twin.service("hospital-a")
    reply = service.reply(replace(request(twin), question=replace(huge, frame=frame)))
    assert reply.refusal is Refusal.OVERFLOW


def test_a_secret_too_short_to_be_one_is_refused(tmp_path):
    (tmp_path / "short").write_bytes(b"1234")
    with pytest.raises(ConfigError, match="must have at least 32 bytes, got 4"):
        read_secret(tmp_path / "short")
    with pytest.raises(FileError, match="cannot read the secret"):
        read_secret(tmp_path / "none")


def chosen_by_the_coordinator(disk):
    """Every kind of question that depends on moments of the coordinator's choice, as an honest one asks it."""
    variables, frame = disk.federation.variables, disk.federation.declared_frame()
    z = frame.express(disk.in_process_rows("hospital-a"))
    moments = Gaussian(z.mean(axis=0), np.cov(z.T, ddof=0))
    R, _ = residual_map(moments.cov, (1,))
    true = standardised_residuals(moments, ())
    pairs = np.argwhere(~np.eye(len(true.variables), dtype=bool))
    rho = true.rho[pairs[:, 0], pairs[:, 1]]
    return {
        "residuals": PairQuestion(variables, frame, 4, R, basis=Basis(moments, (1,))),
        "entropies": EntropyQuestion(variables, frame, true.R, true.offset, pairs, rho, singles=True, basis=true.basis),
        "checks": ResidualQuestion(variables, frame, Basis(moments, (0, 1, 2, 3, 4))),
        "filled pairs": PairQuestion(variables, frame, 4, given=moments),
        "filled tensor": TensorQuestion(variables, frame, given=moments),
    }


KINDS = ("residuals", "entropies", "checks", "filled pairs", "filled tensor")


@pytest.mark.parametrize("kind", KINDS)
def test_a_site_that_does_not_trust_its_coordinator_answers_nothing_that_it_chose(disk, kind):
    service = disk.service("hospital-a", trust_coordinator=False)
    reply = service.reply(request(disk, question=chosen_by_the_coordinator(disk)[kind]))
    assert (reply.refusal, reply.blocks) == (Refusal.TRUST, ())
    assert outcomes(service) == ["trust"]
    assert service.reply(request(disk)).refusal is None  # pooled sums in the declared frame are another matter


@pytest.mark.parametrize("kind", KINDS)
def test_a_site_that_trusts_its_coordinator_answers_but_never_fills_gaps(disk, kind):
    reply = disk.service("hospital-a").reply(request(disk, question=chosen_by_the_coordinator(disk)[kind]))
    assert reply.refusal is (Refusal.GAPS if kind.startswith("filled") else None)


def test_sites_trust_nobody_unless_they_say_so(disk):
    files = {key: getattr(disk.settings("hospital-a"), key) for key in ("name", "federation", "data", "state")}
    assert not SiteSettings(**files).trust_coordinator


@pytest.mark.parametrize("order", [1, 4])
def test_in_a_frame_that_is_not_declared_only_a_site_that_trusts_answers(tmp_path, order):
    disk = horizontal(tmp_path, framed=False)
    asked = PairQuestion(disk.federation.variables, Frame.identity(5), order, grid=EXACT)
    moments = SiteMomentsQuestion(disk.federation.variables, Frame.identity(5))
    for one in (asked, moments, TensorQuestion(disk.federation.variables, Frame.identity(5), grid=EXACT)):
        wary = disk.service("hospital-a", trust_coordinator=False)
        asking = Request("r1.0", 1, disk.digest, "hospital-a", NAMES, one)
        assert wary.reply(asking).refusal is Refusal.TRUST
        assert disk.service("hospital-a").reply(asking).refusal is None


def test_rows_without_identifiers_stay_in_their_groups_when_others_have_gaps(tmp_path):
    disk = horizontal(tmp_path, rows=(1500, 500, 500))
    rows = disk.in_process_rows("hospital-a")
    rows[[3, 700], [1, 2]] = np.nan
    write_table(disk.data("hospital-a"), Table(rows, columns=disk.federation.variables, source="t"))
    asked = GroupedQuestion(question(disk), 10)
    [(_, sums)] = disk.service("hospital-a").reply(request(disk, question=asked)).blocks
    places = np.delete(np.arange(1500), [3, 700])
    names = tuple(map(str, places.tolist()))
    table = Table(rows[places], "hospital-a", "hospital-a", columns=disk.federation.variables, ids=names)
    grouping = Grouping(group_key(disk.secrets()["hospital-a"]))
    site = LocalSite("hospital-a", table, "hospital-a", grouping=grouping)
    assert to_bytes(sums) == to_bytes(site.answer(asked))


def identified(disk, rows, first=0):
    """A site's table with identifiers."""
    table = pd.DataFrame(rows, columns=list(disk.federation.variables))
    table.insert(0, "id", [f"r{k}" for k in range(first, first + len(rows))])
    table.to_parquet(disk.data("hospital-a"))


def count_of(reply):
    [(_, sums)] = reply.blocks
    return int(sums.low.count[0, 0])


def test_rows_that_were_erased_take_no_part_in_runs_whatever_the_table_says(disk):
    """One store: what `fedrcd erase` carried out holds for `fedrcd site serve`."""
    rows = disk.in_process_rows("hospital-a")
    identified(disk, rows)
    configuration = configure(disk.federation, families=("pairs/4",), grid=EXACT)
    with membership(disk.federation, "hospital-a", configuration, disk.state("hospital-a")) as member:
        tables = read_site(disk.data("hospital-a"), disk.federation, disk.federation.site("hospital-a"))
        send(member, tables, None)
        erase(member, tables, None, ids=[f"r{k}" for k in range(60)])
    reply = disk.service("hospital-a").reply(request(disk))
    assert count_of(reply) == 340
    reference = LocalSite.of("hospital-a", rows[60:], disk.federation.variables, "hospital-a").answer(question(disk))
    assert to_bytes(reply.blocks[0][1]) == to_bytes(reference)
    identified(disk, rows[60:], 60)  # gone from the table too: nobody need say so
    again = disk.service("hospital-a").reply(request(disk))
    assert (again.version, to_bytes(again.blocks[0][1])) == (reply.version, to_bytes(reference))
    identified(disk, rows[50:], 50)  # some are still there, some not
    assert disk.service("hospital-a").reply(replace(request(disk), run="r2")).version == reply.version
    identified(disk, rows[61:], 61)  # one more is missing than was erased
    assert disk.service("hospital-a").reply(replace(request(disk), run="r3")).refusal is Refusal.EDITION


def test_a_row_whose_erasure_waits_is_summed_no_more(disk):
    rows = disk.in_process_rows("hospital-a")
    identified(disk, rows)
    service = disk.service("hospital-a")
    before = service.reply(request(disk))
    with disk.door("hospital-a") as (door, tables):
        strike_rows(door, tables, ["r70"], door.store.today())
    assert service.reply(replace(request(disk), run="later")).refusal is Refusal.EDITION
    assert service.reply(request(disk)).refusal is Refusal.EDITION  # nor are sums with it given again
    more = np.concatenate([rows, np.random.default_rng(2).normal(size=(50, 5))])
    identified(disk, more)
    reply = service.reply(replace(request(disk), run="with others"))
    assert (count_of(before), count_of(reply)) == (400, 449)


def test_what_was_contributed_counts_in_the_budget_of_what_is_answered(disk):
    configuration = configure(disk.federation, families=("pairs/4",), grid=EXACT)
    with membership(disk.federation, "hospital-a", configuration, disk.state("hospital-a")) as member:
        send(member, read_site(disk.data("hospital-a"), disk.federation, disk.federation.site("hospital-a")), None)
        [entry] = member.store.entries()
        assert allowance([entry], [], entry.version, 10**6).spent == 81
    tight = disk.service("hospital-a", rules=Rules(share=130 / (400 * 5)))
    assert tight.reply(request(disk)).refusal is None  # the same sums again
    tensor = TensorQuestion(disk.federation.variables, disk.federation.declared_frame(), grid=EXACT)
    assert tight.reply(request(disk, question=tensor)).refusal is Refusal.BUDGET
