"""How commands show that they are at work."""

from __future__ import annotations

from fedrcd.report.progress_bar import ProgressBar, progress_bar

__all__ = ["ProgressBar", "progress_bar"]
