"""The sign of life that commands give."""

from __future__ import annotations

from fedrcd.report.patience import Patience, patience

__all__ = ["Patience", "patience"]
