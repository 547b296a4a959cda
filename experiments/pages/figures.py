"""Draws figures with matplotlib, in colours that colour-blind readers can tell apart (Okabe and Ito 2008)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.harness.experiment import Figure, Panel
from fedrcd.errors import ConfigError

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000", "#F0E442")
MARKERS = "osD^vP*X<>hd"
HATCHES = ("", "//", "..", "xx")


def draw(figure: Figure, folder: Path) -> Path:
    """Draw a figure and return the file it is in."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure as Canvas
    except ImportError:
        raise ConfigError("figures need matplotlib; install fedrcd[figures], or run without figures") from None

    # Text stays text and ids do not change from run to run, so that the file is the same each time.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": figure.name, "font.size": 8}):
        width = float(np.clip(sum(max(3.4, 0.45 * _places(panel)) for panel in figure.panels), 5.0, 13.0))
        canvas = Canvas(figsize=(width, 3.4), layout="constrained")
        axes = canvas.subplots(1, len(figure.panels), squeeze=False)[0]
        for panel, ax in zip(figure.panels, axes, strict=True):
            _draw_panel(panel, ax)
        handles, labels = axes[0].get_legend_handles_labels()
        canvas.legend(handles, labels, loc="outside lower center", ncols=int(width / 1.6), frameon=False)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{figure.name}.svg"
        canvas.savefig(path, metadata={"Date": None})
    return path


def _places(panel: Panel) -> int:
    """Room that a panel needs, in bars or points."""
    points = max(len(series.x) for series in panel.series)
    return points * len(panel.series) // 3 if panel.kind == "bars" else points


def _draw_panel(panel: Panel, ax: Any) -> None:
    for number, series in enumerate(panel.series):
        colour = COLOURS[number % len(COLOURS)]
        if panel.kind == "bars":
            width = 0.8 / len(panel.series)
            at = np.arange(len(series.x)) + (number - (len(panel.series) - 1) / 2) * width
            hatch = HATCHES[number // len(COLOURS) % len(HATCHES)]
            ax.bar(
                at,
                series.y,
                width,
                yerr=series.error,
                label=series.label,
                color=colour,
                hatch=hatch,
                error_kw={"lw": 0.6},
            )
            if number == 0:
                turned = {"rotation": 40, "ha": "right"} if len(series.x) > 4 else {}
                ax.set_xticks(np.arange(len(series.x)), series.x, **turned)
        else:
            marker = MARKERS[number % len(MARKERS)]
            style = {"marker": marker, "ms": 3, "lw": 1, "color": colour, "ls": "-" if number < len(COLOURS) else "--"}
            ax.errorbar(series.x, series.y, series.error, label=series.label, elinewidth=0.6, **style)
    if panel.log_x:
        ax.set_xscale("log")
    if panel.log_y:
        ax.set_yscale("log")
    if panel.limits:
        ax.set_ylim(*panel.limits)
    ax.set(title=panel.title, xlabel=panel.x, ylabel=panel.y)
    ax.grid(axis="y", lw=0.3)
    ax.set_axisbelow(True)
