"""Pictures of the consoles for the documentation; `make figures`. Needs Chromium; real processes on this machine."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

from experiments.tasks import console_story as story
from experiments.tasks.consoles import Consoles

FIGURES = Path(__file__).parents[1] / "docs" / "figures"

COLOURS = 64
"""Of a picture: pages have few, and files stay small."""

TALLEST = 1400
"""Pixels of a picture."""


def main() -> None:
    """Play the story of a federation, and photograph its pages."""
    from playwright.sync_api import sync_playwright

    executable = shutil.which("chromium")
    if executable is None:
        sys.exit("no Chromium here: make browser")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        consoles = Consoles.write(Path(folder) / "federation")
        sandbox = [] if os.geteuid() else ["--no-sandbox"]
        browser = playwright.chromium.launch(executable_path=executable, args=sandbox)
        with consoles.running():
            pages = {name: story.enter(browser, link) for name, link in consoles.links.items()}
            play(consoles, pages)
        browser.close()


def play(consoles: Consoles, pages: dict[str, Any]) -> None:
    """From the first run to an invitation."""
    first, coordinator = story.NAMES[0], pages["coordinator"]
    for name in story.NAMES:
        coordinator.locator("tr", has_text=name).get_by_text("online", exact=True).wait_for()
    story.start_run(coordinator, "fedrcd-ni")
    story.go(pages[first], "Inbox")
    pages[first].wait_for_selector(".waiting")
    keep(pages[first], "console-inbox")
    for name in story.NAMES:
        story.approve(pages[name])
    story.until(coordinator, "#state", "finished")
    keep(coordinator, "console-result")
    story.go(pages[first], "Budget")
    story.settled(pages[first])
    keep(pages[first], "console-budget")
    ids = [f"{first}-{k:05}" for k in (3, 7)]
    story.erase(pages[first], ids, look=lambda: keep(pages[first], "console-erasure"))
    story.go(pages[first], "Log")
    keep(pages[first], "console-log")
    story.invite(coordinator, consoles, "hospital-d", look=lambda: keep(coordinator, "console-sites"))


def keep(page: Any, name: str) -> None:
    """A picture of a page as it is now, in few colours."""
    from PIL import Image

    page.evaluate("scrollTo(0, 0)")
    picture = Image.open(BytesIO(page.screenshot(full_page=True))).convert("RGB")
    picture = picture.crop((0, 0, picture.width, min(picture.height, TALLEST)))
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(FIGURES / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
