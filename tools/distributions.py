"""Builds wheel and sdist, installs each in fresh environments, and tries them there: `make dist`.

Fresh means: a folder of its own, and nothing of this repository on the path. Nothing but the package index is asked for
anything. Each environment runs an example, a discovery and a report, and starts the command by its name.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
OUT = ROOT / "dist"
STEPS = (
    ("--version",),
    ("example", "hospitals", "--out", "demo"),
    ("discover", "demo/hospital_a.csv", "demo/hospital_b.csv", "demo/hospital_c.csv", "--out", "result.json"),
    ("report", "result.json", "--out", "report.html"),
)


def build() -> list[Path]:
    """Wheel and sdist, made anew."""
    shutil.rmtree(OUT, ignore_errors=True)
    for kind in ("wheel", "sdist"):
        subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(OUT)], cwd=ROOT, check=True)
    return sorted(OUT.iterdir())


def try_out(distribution: Path, interpreter: str) -> None:
    """Install a distribution where nothing else is, and run the first steps of a newcomer with it."""
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        subprocess.run([interpreter, "-m", "venv", place / "venv"], check=True, env=surroundings)
        own = place / "venv" / "bin"
        install = [own / "python", "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-compile"]
        subprocess.run([*install, distribution], check=True, cwd=place, env=surroundings)
        for step in STEPS:
            subprocess.run([own / "fedrcd", *step], check=True, cwd=place, env=surroundings, stdout=subprocess.DEVNULL)
        page = (place / "report.html").read_text(encoding="utf-8")
        if "data-ready" not in page and "cytoscape" not in page:
            sys.exit(f"error: the page that {distribution.name} wrote has no script")


def start_by_name(wheel: Path, interpreter: str) -> None:
    """Start the command as people do who have installed nothing: `pipx run`, as `uvx` does."""
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / "venv" / "bin"
        surroundings = os.environ | {"PIPX_HOME": f"{folder}/home", "PIPX_DEFAULT_PYTHON": interpreter}
        subprocess.run([interpreter, "-m", "venv", own.parent], check=True)
        install = [own / "python", "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-compile", "pipx"]
        subprocess.run(install, check=True)
        started = [own / "pipx", "run", "--spec", wheel, "fedrcd", "--version"]
        said = subprocess.run(started, check=True, env=surroundings, capture_output=True, text=True, cwd=folder).stdout
        print(f"pipx run: fedrcd {said.strip()}", flush=True)


def main(words: Sequence[str] | None = None) -> None:
    """Build, then try every distribution on every interpreter."""
    parser = argparse.ArgumentParser(description="Build wheel and sdist and try them in fresh environments.")
    parser.add_argument("interpreters", nargs="+")
    interpreters = parser.parse_args(words).interpreters
    built = build()
    start_by_name(next(one for one in built if one.suffix == ".whl"), interpreters[0])
    for distribution in built:
        for interpreter in interpreters:
            try_out(distribution, interpreter)
            version = subprocess.run(
                [interpreter, "--version"], check=True, capture_output=True, text=True
            ).stdout.strip()
            print(f"{distribution.name} on {version}: example, discover, report", flush=True)


if __name__ == "__main__":
    main()
