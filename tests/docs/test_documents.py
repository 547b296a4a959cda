"""What the documentation shows is what happens."""

import os
import re
import shutil
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest
from tools import equations, generate_docs

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(
    r"(?:<!-- run by (?P<elsewhere>\S+) -->\n)?^```(?P<kind>\w*)\n(?P<code>.*?)^```$"
    r"(?:\n+(?:prints:?\n+)?```text\n(?P<printed>.*?)^```$)?",
    re.DOTALL | re.MULTILINE,
)
RUN = {"python", "sh"}
SHOWN = {"sql", "text", "toml", "json", "yaml"}
"""Kinds of blocks that nobody could run."""


class Block(NamedTuple):
    """A piece of code in a document, and what it is said to print."""

    kind: str
    code: str
    printed: str | None
    elsewhere: str | None


def blocks_of(path):
    """The pieces of code of a document, in its order."""
    found = FENCE.finditer(path.read_text(encoding="utf-8"))
    return [Block(one["kind"], one["code"], one["printed"], one["elsewhere"]) for one in found]


def name_of(path):
    return str(path.relative_to(ROOT))


WITH_CODE = [path for path in DOCUMENTS if path.name != "README.md" and any(b.kind in RUN for b in blocks_of(path))]


@pytest.fixture(scope="session")
def warm(tmp_path_factory):
    """What runs blocks of Python, and a folder with a `fedrcd` command, without the start-up of each."""
    folder = tmp_path_factory.mktemp("warm")
    address, script = str(folder / "s"), str(Path(__file__).with_name("warm.py"))
    server = subprocess.Popen([sys.executable, "-W", "ignore", script, address])
    while not Path(address).exists():
        assert server.poll() is None
        time.sleep(0.05)
    command = folder / "bin" / "fedrcd"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{script}" "{address}" command "$@"\n')
    command.chmod(0o755)
    yield [sys.executable, "-I", "-S", script, address, "code"], command.parent
    server.kill()
    server.wait()


@pytest.mark.parametrize("path", WITH_CODE, ids=name_of)
def test_code_in_documents_runs_and_prints_what_they_say(path, warm, tmp_path):
    run_code, commands = warm
    environment = os.environ | {"PATH": f"{commands}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "120"}
    for block in blocks_of(path):
        if block.elsewhere is not None or block.kind not in RUN:
            continue
        (tmp_path / "block.txt").write_text(block.code, encoding="utf-8")
        command = [*run_code, "block.txt"] if block.kind == "python" else ["bash", "-euo", "pipefail", "block.txt"]
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=300, check=False
        )
        assert done.returncode == 0, f"{block.code}\n{done.stderr}"
        if block.printed is not None:
            assert done.stdout.split() == block.printed.split()


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_block_is_run_or_cannot_be(path):
    for block in blocks_of(path):
        assert block.kind in {*RUN, *SHOWN}, (
            f"a block of kind {block.kind!r}: use python or sh, or text for what is shown"
        )
        if block.elsewhere is not None:
            assert (ROOT / block.elsewhere).is_file(), f"run by {block.elsewhere}, which is not there"


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_links_between_documents_lead_somewhere(path):
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = re.findall(r"\]\((?!https?:)([^)]+)", text)
    for target in targets:
        file, _, anchor = target.partition("#")
        there = (path.parent / file) if file else path
        assert there.exists(), target
        if anchor:
            assert anchor in anchors_of(there), target


def anchors_of(path):
    """What headings of a document can be linked to by."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", generate_docs.GENERATED)
def test_generated_parts_are_those_that_the_code_gives(name):
    text = generate_docs.GENERATED[name]()
    assert (ROOT / name).read_text(encoding="utf-8") == text, f"{name} is out of date: run `make docs`"


def test_every_equation_of_the_paper_is_somewhere_in_the_code_and_no_other_is():
    places = {tag.paper.replace("Def. 1", "Eq. ancacc") for tag in equations.collect()}
    tagged = {place.removeprefix("Eq. ") for place in places if place.startswith("Eq. ")}
    assert tagged == set(equations.EQUATIONS)


def test_what_the_paper_proves_is_shown_with_what_measures_it():
    lines = (ROOT / "docs" / "equations.md").read_text(encoding="utf-8").splitlines()
    for label in equations.PROVED:
        assert "`experiments.pages.ratios`" in next(line for line in lines if line.startswith(f"| `{label}`"))


def test_tags_in_comments_belong_to_the_function_around_them(tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    (package / "one.py").write_text(
        '"""M [P, Sec. 2]."""\n\n\ndef f():\n    """F."""\n    return 1  # [P, Eqs. a, b]\n'
    )
    assert equations.collect(package) == [
        ("Section 2", "package.one", "", "M."),
        ("Eq. a", "package.one", "f", "F."),
        ("Eq. b", "package.one", "f", "F."),
    ]


def test_the_site_is_built_without_a_warning(tmp_path):
    pytest.importorskip("mkdocs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=300, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    assert "fedrcd.api.discover.discover" in (tmp_path / "site" / "reference" / "python" / "index.html").read_text()


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A clean clone of this repository, with the packages of this environment and its own source."""
    folder = tmp_path_factory.mktemp("clone") / "fedrcd"
    cloned = subprocess.run(["git", "clone", "--quiet", ROOT, folder], capture_output=True, text=True, check=False)
    if cloned.returncode:
        pytest.skip(f"this is no git repository: {cloned.stderr.strip()}")
    shutil.copytree(ROOT, folder, dirs_exist_ok=True, ignore=_only_tracked())
    (folder / ".venv").mkdir()
    (folder / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    (folder / ".venv" / "ready").touch()  # as `make setup` leaves it
    return folder


def _only_tracked():
    """For `copytree`: leave out whatever git ignores, so that changes count before they are committed."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    files = {ROOT / name for name in listed.stdout.splitlines()}
    folders = {parent for file in files for parent in file.parents}
    return lambda folder, names: [name for name in names if Path(folder, name) not in files | folders]


def test_the_commands_of_the_readme_run_in_a_clean_clone(clone):
    installed = clone / "installed"
    environment = os.environ | {
        "PATH": f"{installed / 'bin'}{os.pathsep}{clone / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": f"{installed}{os.pathsep}{clone / 'src'}",
        "PIP_TARGET": str(installed),  # nowhere else
        "PIP_NO_DEPS": "1",  # which this environment has
        "PIP_NO_BUILD_ISOLATION": "0",  # pip's way to say that it has the build tools too
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PYTHONWARNINGS": "ignore",
    }
    for block in blocks_of(clone / "README.md"):
        assert block.kind in RUN
        command = {"sh": ["bash", "-euo", "pipefail", "-c"], "python": [sys.executable, "-c"]}[block.kind]
        done = subprocess.run(
            [*command, block.code], capture_output=True, text=True, cwd=clone, env=environment, timeout=300, check=False
        )
        assert done.returncode == 0, f"{block.code}\n{done.stdout}\n{done.stderr}"
    for name in ("demo/result.json", "demo/report.html", "report.html"):
        assert (clone / name).stat().st_size > 1000
    assert (installed / "fedrcd" / "report" / "assets" / "vendor" / "cytoscape.LICENSE").is_file()


def test_the_reference_has_every_public_name():
    import fedrcd

    text = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r'^::: (\S+)\n    options:\n      heading: "fedrcd\.(\w+)"$', text, re.MULTILINE))
    assert {*shown.values(), "__version__"} == set(fedrcd.__all__)
    for place, name in shown.items():
        module, _, attribute = place.rpartition(".")
        assert getattr(import_module(module), attribute) is getattr(fedrcd, name)


def test_the_readme_names_the_two_commands():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make demo" in text
    assert "make test" in text


def test_the_readme_tells_of_every_method():
    from fedrcd.methods.registry import METHODS

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for name in METHODS if f"`{name}`" not in text] == []


def test_the_figures_of_the_readme_are_those_of_the_accuracy_report():
    from experiments.pages.headline import fill

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert fill(readme, (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")) == readme


def test_users_are_told_from_when_on_columns_count_as_collinear():
    from fedrcd.methods.regularity import SINGULAR

    text = " ".join((ROOT / "docs" / "choosing.md").read_text(encoding="utf-8").split())
    assert f"less than {SINGULAR:.0e} of its variance" in text


def test_the_privacy_page_has_every_rule_of_disclosure():
    from fedrcd.federation.site.disclosure import RULES

    text = (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.+?`) \|", text.partition("\n## Rules\n")[2].partition("\n## ")[0], re.MULTILINE)
    assert {name for row in rows for name in re.findall("`([^`]+)`", row)} == set(RULES)


def test_nothing_tests_of_what_kind_a_question_is_as_contributing_says():
    from tools.type_tests import collect

    text = " ".join((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split())
    assert "`python -m tools.type_tests` counts such tests in the source, and the count is 0" in text
    assert list(collect()) == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_tests_and_tools_that_documents_name_are_there(path):
    names = re.findall(r"`((?:tests|tools)/[\w/.]+)`", path.read_text(encoding="utf-8"))
    assert [name for name in names if not (ROOT / name).exists()] == []
