"""Pictures of the report for the README and the documentation; `make figures`. Needs Chromium."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

FIGURES = Path(__file__).parents[1] / "docs" / "figures"


def main() -> None:
    """Write the report of the three hospitals and photograph it."""
    from playwright.sync_api import sync_playwright

    from fedrcd import discover
    from fedrcd.data.examples import example_paths

    executable = shutil.which("chromium")
    if executable is None:
        sys.exit("no Chromium here: make browser")
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder) / "report.html"
        discover(example_paths(), "fedrcd-s").report(page_file)
        sandbox = [] if os.geteuid() else ["--no-sandbox"]
        browser = playwright.chromium.launch(executable_path=executable, args=sandbox)
        page = browser.new_page(viewport={"width": 1160, "height": 1000})
        page.goto(page_file.as_uri())
        page.wait_for_selector("html[data-ready]")
        page.evaluate("fedrcd.cy.$('node[name = \"creatinine\"]').emit('tap')")
        page.wait_for_timeout(300)
        page.screenshot(path=FIGURES / "report.png")
        browser.close()


if __name__ == "__main__":
    main()
