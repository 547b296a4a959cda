"""The federation file: what is written is read, and every mistake is named with its place."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrcd.data.federation import (
    BlockEntry,
    Federation,
    SiteEntry,
    VariableFrame,
    read_federation,
    write_federation,
)
from fedrcd.errors import ConfigError, FileError
from fedrcd.statistics.coverage import Holding

GOOD = """\
variables = ["age", "bmi"]
id_column = "patient"

[frame.age]
centre = 50
scale = 10.0
unit = "years"

[[site]]
name = "hospital-a"
columns = ["age", "bmi"]
blocks = ["2021", "2022"]

[[site]]
name = "hospital-b"
key = "ssh-ed25519 AAAA"
columns = ["bmi"]
blocks = ["2022"]

[[block]]
label = "2021"
rows = 2000

[[block]]
label = "2022"
rows = 300
"""

names = st.text(min_size=1).filter(str.strip)
numbers = st.floats(-1e300, 1e300)


@st.composite
def federations(draw):
    """Federations of any names in which everything is held by somebody."""
    id_column, block_column, *variables = draw(st.lists(names, min_size=4, max_size=7, unique=True))
    labels = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    sites = [SiteEntry(draw(names), tuple(variables), tuple(labels), draw(st.just("") | names))]
    if draw(st.booleans()):
        some = draw(st.lists(st.sampled_from(variables), min_size=1, unique=True))
        sites.append(SiteEntry(sites[0].name + "2", tuple(some), tuple(labels[:1])))
    frames = st.builds(VariableFrame, numbers, st.floats(1e-300, 1e300), st.text())
    return Federation(
        tuple(variables),
        tuple(sites),
        tuple(BlockEntry(label, draw(st.integers(1, 10**9))) for label in labels),
        draw(st.dictionaries(st.sampled_from(variables), frames)),
        id_column,
        block_column,
    )


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("federation") / "federation.toml"


@given(federation=federations())
def test_what_is_written_is_read(federation, path):
    write_federation(path, federation)
    assert read_federation(path) == federation


def test_a_file_written_by_hand_is_read(path):
    path.write_text(GOOD)
    federation = read_federation(path)
    assert federation.variables == ("age", "bmi")
    assert federation.frame == {"age": VariableFrame(50.0, 10.0, "years")}
    assert (federation.id_column, federation.block_column) == ("patient", "block")
    assert federation.sites[1].key == "ssh-ed25519 AAAA"


def test_the_layout_has_a_holding_per_site_and_block_in_file_order(path):
    path.write_text(GOOD)
    layout = read_federation(path).layout()
    assert layout.variables == ("age", "bmi")
    assert layout.holdings == (
        Holding("hospital-a", "2021", ("age", "bmi"), 2000),
        Holding("hospital-a", "2022", ("age", "bmi"), 300),
        Holding("hospital-b", "2022", ("bmi",), 300),
    )


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(path):
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert read_federation(path).blocks[1] == BlockEntry("2022", 300)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('id_column = "patient"', 'id_colum = "patient"', "the file has an unknown key 'id_colum'; did you mean 'id_"),
        ('id_column = "patient"', "colour = 1", "the file has an unknown key 'colour'; the keys are variables, site"),
        ('variables = ["age", "bmi"]', "", "the file lacks the key 'variables'"),
        ('variables = ["age", "bmi"]', 'variables = "age"', "the file variables: must be a list of strings, got a str"),
        ('variables = ["age", "bmi"]', "variables = [1]", "variables: must be a list of strings, got a list of other"),
        ('variables = ["age", "bmi"]', 'variables = ["age"]', "variables: at least 2 are needed, got 1"),
        ('variables = ["age", "bmi"]', 'variables = ["age", "bmi", "age"]', "variables: 'age' is there twice"),
        ('variables = ["age", "bmi"]', 'variables = ["age", "bmi", " "]', "variables: an entry is empty"),
        ('variables = ["age", "bmi"]', 'variables = ["age", "bmi", "sex"]', "variables: no [[site]] has 'sex' in its"),
        ('"patient"', '"age"', "id_column: 'age' is also in variables"),
        ('"patient"', '"block"', "id_column, block_column: 'block' is there twice"),
        ("[frame.age]", "[frame.aeg]", "[frame]: there is no variable 'aeg'; did you mean 'age'?"),
        (
            "[frame.age]",
            "[frame]\nage = 1\n[frame.bmi]",
            "[frame.age]: must be a table with centre and scale, got a who",
        ),
        ("scale = 10.0", "", "[frame.age] lacks the key 'scale'"),
        ("scale = 10.0", "scale = 0", "[frame.age] scale: must be above 0 and finite, got 0.0"),
        ("scale = 10.0", "scale = nan", "[frame.age] scale: must be a finite number"),
        ("scale = 10.0", "scale = true", "[frame.age] scale: must be a finite number, got a boolean"),
        ("centre = 50", "centre = 1" + 400 * "0", "[frame.age] centre: must be a finite number"),
        ("centre = 50", "center = 50", "[frame.age] has an unknown key 'center'; did you mean 'centre'?"),
        ('unit = "years"', "unit = 1", "[frame.age] unit: must be a string, got a whole number"),
        ('name = "hospital-b"', "", "[[site]] 2 lacks the key 'name'"),
        ('name = "hospital-b"', 'name = "hospital-a"', "[[site]] name: 'hospital-a' is there twice"),
        (
            'name = "hospital-a"',
            'name = "hospital-a"\nkey = "ssh-ed25519 AAAA"',
            "[[site]] key: 'ssh-ed25519 AAAA' is th",
        ),
        ('columns = ["bmi"]', 'colums = ["bmi"]', "[[site]] 2 has an unknown key 'colums'; did you mean 'columns'?"),
        (
            'columns = ["bmi"]',
            'columns = ["bim"]',
            "[[site]] 'hospital-b' columns: there is no variable 'bim'; did you",
        ),
        ('columns = ["bmi"]', 'columns = ["bmi", "bmi"]', "[[site]] 'hospital-b' columns: 'bmi' is there twice"),
        ('columns = ["bmi"]', "columns = []", "[[site]] 'hospital-b' columns: at least one variable is needed"),
        ('blocks = ["2022"]', 'blocks = ["2023"]', "[[site]] 'hospital-b' blocks: there is no block '2023'; did you"),
        ('blocks = ["2022"]', "blocks = 2022", "[[site]] 2 blocks: must be a list of strings, got a whole number"),
        ('blocks = ["2021", "2022"]', 'blocks = ["2022"]', "[[block]] '2021' label: no [[site]] has it in its blocks"),
        ('label = "2022"', 'label = "2021"', "[[site]] 'hospital-a' blocks: there is no block '2022'"),
        (
            'blocks = ["2022"]\n',
            'blocks = ["2022"]\n[[block]]\nlabel = "2021"\nrows = 1\n',
            "label: '2021' is there tw",
        ),
        ("rows = 300", "rows = 0", "[[block]] '2022' rows: must be between 1 and"),
        ("rows = 300", "rows = 300.5", "[[block]] 2 rows: must be a whole number, got a number"),
        (
            '[[block]]\nlabel = "2021"\nrows = 2000\n\n[[block]]',
            "[block]",
            "block: must be one or more tables in double",
        ),
    ],
)
def test_a_mistake_is_named_in_one_line_with_its_file_table_and_key(old, new, message, path):
    assert old in GOOD
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(ConfigError, match=f"^{re.escape(str(path))}: .*{re.escape(message)}") as raised:
        read_federation(path)
    assert "\n" not in str(raised.value)


def test_text_that_is_not_toml_is_refused_with_its_line(path):
    path.write_text(GOOD.replace("rows = 2000", "rows 2000"))
    with pytest.raises(FileError, match=r"federation\.toml: it is not TOML: .*line 22"):
        read_federation(path)


def test_a_file_in_another_encoding_is_refused(path):
    path.write_bytes(GOOD.replace("years", "ann\u00e9es").encode("latin-1"))
    with pytest.raises(FileError, match="not UTF-8"):
        read_federation(path)


def test_files_that_cannot_be_read_or_written_are_named(tmp_path, path):
    path.write_text(GOOD)
    with pytest.raises(FileError, match=r"cannot read .*none\.toml: No such file"):
        read_federation(tmp_path / "none.toml")
    with pytest.raises(FileError, match=r"cannot write .*none.f\.toml: No such file"):
        write_federation(tmp_path / "none" / "f.toml", read_federation(path))


def test_a_frame_that_is_not_finite_is_refused_in_python_too():
    entries = ((SiteEntry("s", ("a", "b"), ("1",)),), (BlockEntry("1", 5),))
    with pytest.raises(ConfigError, match=r'\[frame."b c"\] centre: must be finite'):
        Federation(("a", "b c"), (SiteEntry("s", ("a", "b c"), ("1",)),), entries[1], {"b c": VariableFrame(1e999, 1)})
    with pytest.raises(ConfigError, match=r"\[frame.b\] scale: must be above 0"):
        Federation(("a", "b"), *entries, {"b": VariableFrame(0.0, -1.0)})
