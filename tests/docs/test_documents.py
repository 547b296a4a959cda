"""What the documentation shows is what happens."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"```python\n(.*?)```(?:\s+prints:?\s+```text\n(.*?)```|\s+```text\n(.*?)```)?", re.DOTALL)
BLOCKS = [
    pytest.param(match[1], match[2] or match[3], id=f"{path.name}-{number}")
    for path in DOCUMENTS
    for number, match in enumerate(BLOCK.finditer(path.read_text(encoding="utf-8")), 1)
]


@pytest.mark.parametrize(("code", "printed"), BLOCKS)
def test_code_in_documents_runs_and_prints_what_they_say(code, printed, tmp_path):
    command = [sys.executable, "-W", "ignore::fedrcd.errors.FedrcdWarning", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    if printed is not None:
        assert done.stdout.split() == printed.split()


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(path):
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text(encoding="utf-8"))
    assert [target for target in targets if not (path.parent / target).exists()] == []


def test_the_readme_names_the_two_commands():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make demo" in text
    assert "make test" in text


def test_the_readme_tells_of_every_method():
    from fedrcd.methods.registry import METHODS

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for name in METHODS if f"`{name}`" not in text] == []


def test_the_figures_of_the_readme_are_those_of_the_accuracy_report():
    from fedrcd.experiments.headline import fill

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert fill(readme, (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")) == readme
