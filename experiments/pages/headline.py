"""The README's figures, taken from docs/accuracy.md; `python -m experiments.pages.headline` puts them there."""

from __future__ import annotations

from pathlib import Path

BEGIN, END = "<!-- accuracy: written by `make bench-accuracy` -->\n", "<!-- end of accuracy -->"
SHOWN = {
    "lingam.DirectLiNGAM": "`lingam.DirectLiNGAM`, pooled rows",
    "fed-direct": "`fed-direct`",
    "fedrcd-s": "**`fedrcd-s`**",
    "fedrcd-sp": "`fedrcd-sp`, pairs only",
    "fedrcd-x": "`fedrcd-x`, the paper's best",
    "fedrcd-ni": "`fedrcd-ni`",
    "fedishc": "`fedishc`",
}
NOT_RUN = (
    "In parentheses: not run. `lingam.DirectLiNGAM` was given raw data only; it standardises every variable itself, "
    "so that its order does not depend on scale."
)


def headline(accuracy: str) -> str:
    """A short table of the methods people ask about first, from the text of docs/accuracy.md."""
    rows = {}
    for line in accuracy.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] in SHOWN and len(cells) == 9:
            rows[cells[0]] = cells
    lines = [
        "Share of ancestral relations in the right order (20 variables, 10 sites of 2000 rows, eleven noise families):",
        "",
        "| method | raw data | standardised data | rounds | kB a site |",
        "|---|---|---|---|---|",
    ]
    for name, label in SHOWN.items():
        cells = rows[name]
        raw, standardised = (cell.split(" ")[0] for cell in cells[4:6])
        if standardised == "-":
            standardised = f"({raw})"
        lines.append(f"| {label} | {raw} | {standardised} | {cells[6]} | {cells[7]} |")
    if any(cells[5] == "-" for cells in rows.values()):
        lines += ["", NOT_RUN]
    return "\n".join(lines) + "\n"


def fill(readme: str, accuracy: str) -> str:
    """The README with its figures renewed."""
    before, rest = readme.split(BEGIN)
    _, after = rest.split(END)
    return before + BEGIN + headline(accuracy) + END + after


def main(folder: Path = Path()) -> None:
    """Renew the README in a folder from its docs/accuracy.md."""
    readme = folder / "README.md"
    accuracy = (folder / "docs" / "accuracy.md").read_text(encoding="utf-8")
    readme.write_text(fill(readme.read_text(encoding="utf-8"), accuracy), encoding="utf-8")


if __name__ == "__main__":
    main()
