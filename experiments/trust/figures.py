"""Figures of docs/trust.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

INK, SOFT = "#1f4e79", "#9db7d0"


def curves(
    target: Path, points: Mapping[str, Sequence[float]], shares: Mapping[str, Sequence[float]], level: float
) -> None:
    """One panel per alternative: share of alarms against its strength."""
    plt = _pyplot()
    figure, panels = plt.subplots(1, len(points), figsize=(3 * len(points), 2.8), sharey=True, layout="constrained")
    for panel, (what, strengths) in zip(panels, points.items(), strict=True):
        panel.plot(strengths, shares[what], marker="o", color=INK)
        panel.axhline(level, color=SOFT, linestyle="--", linewidth=1)
        panel.set_title(what, fontsize=10)
        panel.set_ylim(-0.02, 1.02)
    panels[0].set_ylabel("share of alarms")
    _save(figure, target)


def calibration(target: Path, rows: Sequence[tuple[str, Sequence[float], Sequence[float], Sequence[int]]]) -> None:
    """Share of true edges against bootstrap probability, one line per way of resampling; sizes show how many edges."""
    plt = _pyplot()
    figure, panel = plt.subplots(figsize=(4.6, 4.2), layout="constrained")
    panel.plot([0, 1], [0, 1], color=SOFT, linestyle="--", linewidth=1)
    for shade, (label, probability, share, count) in zip(
        ("#1f4e79", "#c0504d", "#6a994e", "#8064a2"), rows, strict=False
    ):
        panel.plot(probability, share, color=shade, linewidth=1, label=label)
        panel.scatter(probability, share, s=[4 + min(n, 400) / 8 for n in count], color=shade)
    panel.set_xlabel("bootstrap probability of an edge")
    panel.set_ylabel("share of these edges that are true")
    panel.legend(fontsize=8, loc="upper left")
    _save(figure, target)


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "fedrcd"  # the same figure gives the same file
    import matplotlib.pyplot as plt

    return plt


def _save(figure: Any, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, metadata={"Date": None})
