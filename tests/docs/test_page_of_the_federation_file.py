"""The page about `federation.toml` tells what the reader takes, no more and no less."""

import re
from pathlib import Path

import pytest

from fedrcd.data.agreed import Agreed
from fedrcd.data.federation import KEYS, Federation, read_federation

PAGE = (Path(__file__).parents[2] / "docs" / "federation-file.md").read_text(encoding="utf-8")
TITLES = {
    "the file": "the file",
    "`[frame.NAME]`": "[frame.NAME]",
    "`[agreed]`": "[agreed]",
    "`[[site]]`": "[[site]]",
    "`[[block]]`": "[[block]]",
}


@pytest.mark.parametrize("title", TITLES)
def test_the_page_tells_every_key(title):
    section = PAGE.split(f"## Keys of {title}\n")[1].split("\n## ")[0]
    told = re.findall(r"^\| `(\w+)` \| ([^|]+) \| (yes|no)", section, re.MULTILINE)
    keys = KEYS[TITLES[title]]
    kinds = {name: (kind.words, "yes") for name, kind in keys.required.items()}
    kinds |= {name: (kind.words, "no") for name, kind in keys.optional.items()}
    assert {name: (kind, needed) for name, kind, needed in told} == kinds


def test_the_reader_takes_the_example_which_uses_every_key(tmp_path):
    example = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)[1]
    (tmp_path / "federation.toml").write_text(example, encoding="utf-8")
    found = read_federation(tmp_path / "federation.toml")
    assert found.declared_frame() is not None
    assert found.units()["glucose"] == "mg/dL"
    assert found.layout().first_missing(3) is None
    used = set(re.findall(r"^(\w+) =", example, re.MULTILINE)) | set(re.findall(r"^\[+(\w+)", example, re.MULTILINE))
    assert used == {name for keys in KEYS.values() for name in (*keys.required, *keys.optional)}


def test_the_defaults_that_the_page_tells_are_those_of_the_reader():
    defaults = dict(re.findall(r"^\| `(\w+)` \| [^|]+ \| no, `([^`]+)`", PAGE, re.MULTILINE))
    fields = {**Federation.__dataclass_fields__, **Agreed.__dataclass_fields__}
    assert {name: text.strip('"') for name, text in defaults.items()} == {
        name: str(fields[name].default).lower() for name in defaults
    }
    assert len(defaults) == 8
