"""A federation's life as its people type it: two sites, a coordinator, an erasure, a certificate."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from fedrcd import Discovery
from fedrcd.cli.main import app
from fedrcd.data.federation import read_federation, write_federation
from fedrcd.errors import ConfigError, DataError, FileError, ProtocolError
from fedrcd.federation.coordinator.recorded_answers import ANSWERS, RecordedAnswers
from fedrcd.federation.ledger.ledger import Ledger
from fedrcd.federation.messages.keys import make_development_keys
from fedrcd.federation.messages.requests import Reply
from tests.cli.commands import entered, in_a_process, last_line
from tests.federation.living import federation_of, frame_of, sample

FEDERATION = federation_of(3, ("north", "south"))


def with_keys(federation, folder):
    """The federation with the public keys of its sites; the private ones lie in keys/."""
    known = {site.name: (folder / "keys" / f"{site.name}.pub") for site in federation.sites}
    fresh = [name for name, path in known.items() if not path.exists()]
    if fresh:
        made = folder / f"new-{len(list(folder.glob('new-*')))}"
        make_development_keys(made, fresh, ["localhost"])
        (folder / "keys").mkdir(exist_ok=True)
        for name in fresh:
            for ending in ("", ".pub"):
                (made / f"{name}{ending}").rename(folder / "keys" / f"{name}{ending}")
    sites = tuple(replace(site, key=known[site.name].read_text().strip()) for site in federation.sites)
    return replace(federation, sites=sites)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_federation(tmp_path / "federation.toml", with_keys(FEDERATION, tmp_path))
    for seed, site in enumerate(("north", "south")):
        frame_of(sample(3, 400, seed, noise="gamma")).to_csv(tmp_path / f"{site}.csv", index=False)
    (tmp_path / "ids.txt").write_text("r5\nr6\n")
    return tmp_path


def typed(*arguments, fails=None):
    """Run a command in this process; what it printed."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if fails is not None:
        assert isinstance(done.exception, fails), done.output
        return str(done.exception)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.stdout


def site(name, *more):
    return (f"{name}.csv", "--federation", "federation.toml", "--site", name, "--key", f"keys/{name}", *more)


def joined():
    typed("ledger", "new", "l.db", "--federation", "federation.toml")
    for name in ("north", "south"):
        typed("contribute", *site(name, "--ledger", "l.db"))


def shown():
    return json.loads(typed("ledger", "show", "l.db", "--json"))


def test_the_life_of_a_federation_in_processes_of_their_own(folder):
    steps = [
        ("ledger", "new", "l.db", "--federation", "federation.toml"),
        ("contribute", *site("north", "--ledger", "l.db")),
        ("ledger", "discover", "l.db", "--out", "result.json"),
        ("erase", *site("north", "--ledger", "l.db", "--ids", "ids.txt", "--now", "--certificate", "c.html")),
        ("ledger", "verify", "l.db"),
    ]
    for step in steps:
        done = in_a_process(*step)
        assert done.returncode == 0, done.stderr
    assert "every record is as it was written" in done.stdout
    assert "Certificate of erasure" in (folder / "c.html").read_text()
    before = Discovery.from_json(folder / "result.json")
    assert before.rows == 400
    content = shown()
    assert [entry["kind"] for entry in content["entries"]] == ["opened", "joined", "result", "erased", "result"]
    assert content["entries"][2]["state"] == before.state_id != content["state"]


def test_an_erasure_waits_by_default_and_says_so(folder):
    joined()
    said = typed("erase", *site("north", "--ledger", "l.db", "--ids", "ids.txt", "--certificate", "c.json"))
    assert "2 are gone; they wait until 30 persons can hide each other, or until 20" in said
    assert "no certificate was written" in said
    assert not (folder / "c.json").exists()
    assert len(shown()["entries"]) == 3
    said = typed("erase", *site("north", "--ledger", "l.db", "--where", "v0 > 1"))
    assert "version 2" in said
    assert "order" in said


def test_an_erasure_that_waits_is_carried_out_when_it_is_asked_for_again_with_now(folder):
    joined()
    again = ("erase", *site("north", "--ledger", "l.db", "--ids", "ids.txt"))
    assert "they wait" in typed(*again)
    assert "version 2" in typed(*again, "--now")
    assert [entry["kind"] for entry in shown()["entries"]][3] == "erased"


def test_programs_are_told_the_same_as_json(folder):
    typed("ledger", "new", "l.db", "--federation", "federation.toml")
    for name in ("north", "south"):
        told = json.loads(typed("contribute", *site(name, "--ledger", "l.db", "--json")))
        assert [(one["version"], one["rows"], one["waiting"]) for one in told["blocks"]] == [(1, 400, False)]
    told = json.loads(typed("erase", *site("north", "--ledger", "l.db", "--ids", "ids.txt", "--json")))
    assert (told["blocks"][0]["waiting"], told["blocks"][0]["changed"], told["entries"]) == (True, 2, [])
    told = json.loads(typed("erase", *site("north", "--ledger", "l.db", "--due", "--now", "--json")))
    assert told["entries"] == [told["blocks"][0]["receipt"]["number"]] == [4]
    assert [one["state_id"] for one in told["results"]] == [shown()["state"]]
    told = json.loads(typed("erase", "--ledger", "l.db", "--site", "south", "--json"))
    assert [one["method"] for one in told["results"]] == ["fedrcd-s"]


def test_what_is_due_is_carried_out(folder):
    joined()
    typed("erase", *site("north", "--ledger", "l.db", "--ids", "ids.txt", "--days", 0, "--batch", 500, "--now"))
    (folder / "ids.txt").write_text("r7\n")
    said = typed("erase", *site("north", "--ledger", "l.db", "--ids", "ids.txt", "--days", 0))
    assert "29 persons left out at random" in said
    assert "nothing changed" in typed("erase", *site("north", "--ledger", "l.db", "--due"))


def test_files_carry_contributions_where_the_ledger_is_elsewhere(folder):
    typed("ledger", "new", "l.db", "--federation", "federation.toml")
    said = typed("contribute", *site("north", "--out", "north.parcel"))
    assert "north.parcel" in said
    said = typed("ledger", "add", "l.db", "north.parcel", "--receipts", "receipts.json")
    assert "joined" in said
    assert "as it was written" in typed("ledger", "verify", "l.db", "--receipt", "receipts.json")
    typed("erase", *site("north", "--out", "gone.parcel", "--all"))
    assert "left" in typed("ledger", "add", "l.db", "gone.parcel")
    assert shown()["contributions"] == []
    assert "bring it back with --rejoin" in typed("contribute", *site("north", "--ledger", "l.db"), fails=ConfigError)
    typed("contribute", *site("north", "--ledger", "l.db", "--rejoin"))
    assert [one["version"] for one in shown()["contributions"]] == [2]


def test_a_site_leaves_at_the_coordinator(folder):
    joined()
    said = typed("erase", "--ledger", "l.db", "--site", "south", "--certificate", "c.json")
    assert "left" in said
    assert "order" in said
    assert json.loads((folder / "c.json").read_text())["rows_after"] == 0
    said = typed("erase", "--ledger", "l.db", "--site", "north")
    assert "nobody is in the state" in said


def test_states_are_compared_and_exported(folder):
    joined()
    typed("erase", "--ledger", "l.db", "--site", "south", "--no-derive")
    assert typed("ledger", "diff", "l.db", "2") == "the same contributions are in both states\n"
    assert "south, block block-south: left, version 1, 400 rows" in typed("ledger", "diff", "l.db", "3", "4")
    state = shown()["entries"][1]["state"]
    changes = json.loads(typed("ledger", "diff", "l.db", "1", state[:10], "--json"))
    assert [one["site"] for one in changes] == ["north"]
    typed("ledger", "export", "l.db", "--out", "export.json")
    assert "as it was written" in typed("ledger", "verify", "export.json")
    (folder / "export.json").write_text((folder / "export.json").read_text().replace("south", "SOUTH"))
    done = CliRunner().invoke(app, ["ledger", "verify", "export.json"])
    assert done.exit_code == 6
    assert "CHANGED entry 3" in done.stdout
    typed("ledger", "certificate", "l.db", "4", "--out", "c.html", "--out", "c.json")
    assert "Certificate" in (folder / "c.html").read_text()


def test_a_new_site_joins_later(folder):
    joined()
    write_federation(folder / "federation.toml", with_keys(federation_of(3, ("north", "south", "east")), folder))
    frame_of(sample(3, 300, 9)).to_parquet(folder / "east.parquet", index=False)
    joining = ("contribute", "east.parquet", *site("east", "--ledger", "l.db")[1:])
    assert "was not admitted" in typed(*joining, fails=ProtocolError)
    assert "admitted: east" in typed("ledger", "admit", "l.db", "--federation", "federation.toml")
    assert "all sites of the file are admitted" in typed("ledger", "admit", "l.db", "--federation", "federation.toml")
    typed(*joining)
    assert [one["site"] for one in shown()["contributions"]] == ["east", "north", "south"]
    found = Discovery.from_json(typed("ledger", "discover", "l.db", "--json", "--method", "fedrcd-ni"))
    assert (found.rows, found.sites) == (1100, 3)


def test_what_a_site_contributed_is_in_its_log_and_counts_with_what_it_answers(folder):
    joined()
    state = folder / "fedrcd-state" / "north"
    said = typed("site", "log", "--state", state)
    assert (
        "run contribution 1 of block block-north round 1 block block-north: 35 numbers left: the row count and sums of"
        in said
    )
    assert "2 entries, 66 numbers left this site" in said  # C(7, 4) of the tensor, 1 + 4 * 3 + 3 * 6 of the pairs
    assert (state / "site.db").stat().st_mode & 0o077 == 0


def test_the_store_may_be_elsewhere(folder):
    typed("ledger", "new", "l.db", "--federation", "federation.toml")
    typed("contribute", *site("north", "--ledger", "l.db", "--state", "elsewhere"))
    assert not (folder / "fedrcd-state").exists()
    assert "66 numbers left" in typed("site", "log", "--state", "elsewhere")
    said = typed("erase", *site("north", "--ledger", "l.db", "--ids", "ids.txt", "--state", "elsewhere", "--now"))
    assert "version 2, 398 rows" in said


def test_an_erasure_in_a_folder_where_nothing_was_answered_is_no_erasure(folder):
    """The store that the site answers from would go on summing the rows."""
    typed("ledger", "new", "l.db", "--federation", "federation.toml")
    typed("contribute", *site("north", "--ledger", "l.db", "--state", "elsewhere"))
    said = typed("erase", *site("north", "--ids", "ids.txt"), fails=ConfigError)
    assert "no store of site 'north' in fedrcd-state/north" in said
    assert not (folder / "fedrcd-state").exists()


def test_a_contribution_keeps_the_rules_of_disclosure(folder):
    typed("ledger", "new", "l.db", "--federation", "federation.toml")
    table = frame_of(sample(3, 400, 0, noise="gamma"))
    table.assign(v0=[float(k < 3) for k in range(400)]).to_csv(folder / "north.csv", index=False)
    said = typed("contribute", *site("north", "--ledger", "l.db"), fails=ProtocolError)
    assert said == "fewer than 11 rows share a combination of levels of 'v0'"
    assert "refused (cells)" in typed("site", "log", "--state", folder / "fedrcd-state" / "north")
    for weaker in (("--minimum-rows", 50), ("--batch", -1)):
        typed("contribute", *site("north", "--ledger", "l.db", *weaker), fails=ConfigError)
    assert shown()["contributions"] == []


def test_a_trim_is_kept_for_contributions_too(folder):
    typed("ledger", "new", "l.db", "--federation", "federation.toml")
    typed("contribute", *site("north", "--ledger", "l.db", "--trim", 8))
    said = typed("contribute", *site("north", "--ledger", "l.db", "--again"), fails=ProtocolError)
    assert "summed with --trim 8 before" in said
    assert [one["version"] for one in shown()["contributions"]] == [1]


WRONG = [
    (("contribute", *site("north")), ConfigError, "either --ledger or --out"),
    (("contribute", *site("west", "--ledger", "l.db")), ConfigError, "no site 'west'"),
    (("contribute", *site("north", "--ledger", "none.db")), FileError, "no ledger"),
    (("contribute", *site("north", "--ledger", "l.db", "--block", "x")), ConfigError, "no block 'x'"),
    (("contribute", *site("north", "--out", "x", "--arithmetic", "rough")), ConfigError, "--arithmetic"),
    (("erase", *site("north", "--ledger", "l.db")), ConfigError, "say what to erase"),
    (("erase", *site("north", "--ledger", "l.db", "--all", "--where", "v0>0")), ConfigError, "say what to erase"),
    (("erase", "north.csv", "--site", "north", "--ledger", "l.db", "--all"), ConfigError, "--federation"),
    (
        ("contribute", "north.csv", "--federation", "federation.toml", "--site", "north", "--ledger", "l.db"),
        ConfigError,
        "give --key",
    ),
    (
        (
            "contribute",
            "north.csv",
            "--federation",
            "federation.toml",
            "--site",
            "north",
            "--key",
            "keys/south",
            "--ledger",
            "l.db",
        ),
        ConfigError,
        "not the key",
    ),
    (("erase", *site("north", "--ledger", "l.db", "--ids", "absent.txt")), FileError, "cannot read"),
    (("erase", *site("north", "--out", "x", "--all", "--certificate", "c.html")), ConfigError, "coordinator certifies"),
    (("erase", *site("north", "--ledger", "l.db", "--all", "--certificate", "c.pdf")), ConfigError, "ending"),
    (("erase", "--site", "north"), ConfigError, "give --ledger and --site"),
    (("erase", "--site", "west", "--ledger", "l.db"), ProtocolError, "no contribution of site 'west'"),
    (("ledger", "new", "l.db", "--federation", "federation.toml"), FileError, "already"),
    (("ledger", "add", "l.db", "north.csv"), ProtocolError, "not a message"),
    (("ledger", "diff", "l.db", "99"), ConfigError, "no entry and no state"),
    (("ledger", "verify", "l.db", "--receipt", "north.csv"), FileError, "no receipts"),
    (("ledger", "discover", "l.db", "--method", "fedrcd-x"), ProtocolError, "new run over them"),
    (("ledger", "discover", "l.db", "--out", "x.pdf"), ConfigError, "ending"),
    (("ledger", "certificate", "l.db", "2", "--out", "c.html"), ConfigError, "no erasure"),
]


def test_mistakes_are_one_line_and_change_nothing(folder):
    joined()
    before = (folder / "l.db").read_bytes()
    for command, kind, words in WRONG:
        assert words in typed(*command, fails=kind), command
    assert (folder / "l.db").read_bytes() == before


def test_another_frame_is_refused_at_the_site(folder):
    joined()
    write_federation(folder / "federation.toml", with_keys(federation_of(3, ("north", "south"), scale=5.0), folder))
    assert "another frame" in typed("contribute", *site("north", "--ledger", "l.db"), fails=ConfigError)
    write_federation(folder / "federation.toml", with_keys(federation_of(4, ("north", "south")), folder))
    assert "lacks column 'v3'" in typed("contribute", *site("north", "--ledger", "l.db"), fails=DataError)


def test_errors_of_a_process_are_one_line_with_their_code(folder):
    done = entered("ledger", "show", "absent.db")
    assert done.returncode == 4
    assert last_line(done) == "error: there is no ledger absent.db"


def test_answers_to_unfinished_runs_are_deleted_with_the_rows(folder):
    joined()
    recorded = RecordedAnswers(folder / "runs" / "killed" / ANSWERS)
    for name in ("north", "south"):
        recorded.record(Reply("run", "question", name, "v", (("2021", None),)))
    assert "1 recorded answer of site south to unfinished runs deleted" in typed(
        "erase", "--ledger", "l.db", "--site", "south"
    )
    assert recorded.find("run", "question", "south") is None
    assert recorded.find("run", "question", "north") is not None


def test_what_changes_without_each_site(folder):
    joined()
    said = typed("ledger", "discover", "l.db", "--leave-one-out")
    assert "without north: 0 pairs turned round" in said
    told = json.loads(typed("ledger", "discover", "l.db", "--leave-one-out", "--json"))
    assert [row["without"] for row in told["leave_one_site_out"]] == ["north", "south"]
    assert told["impossible"] == {}
    first = told["discovery"]["order"][0]
    (folder / "known.toml").write_text(f'sinks = ["{first}"]')
    known = json.loads(typed("ledger", "discover", "l.db", "--knowledge", "known.toml", "--json"))
    assert known["order"][-1] == first or not any(row[known["names"].index(first)] for row in known["B"])


@pytest.mark.parametrize("by_file", [False, True])
def test_a_block_that_was_renamed_is_in_the_ledger_once(folder, by_file):
    joined()
    federation = read_federation("federation.toml")
    sites = tuple(replace(one, blocks=("2027",)) if one.name == "north" else one for one in federation.sites)
    blocks = tuple(replace(one, label="2027") if one.label == "block-north" else one for one in federation.blocks)
    write_federation("federation.toml", replace(federation, sites=sites, blocks=blocks))
    typed("contribute", *site("north", *(("--out", "p.parcel") if by_file else ("--ledger", "l.db"))))
    for _ in range(2 if by_file else 0):
        typed("ledger", "add", "l.db", "p.parcel")
    with Ledger.open("l.db") as ledger:
        assert set(ledger.roster.standings) == {("north", "2027"), ("south", "block-south")}
        assert ledger.pooled()["tensor"].floats().count == 800
