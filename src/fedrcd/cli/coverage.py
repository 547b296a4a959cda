"""`fedrcd coverage`: what a federation allows, from its file alone."""

from __future__ import annotations

from html import escape as escape_xml
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedrcd.cli.progress_bar import progress_bar
from fedrcd.errors import ConfigError, FileError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from fedrcd.methods.coverage_report import CoverageReport

NAMES = {2: "pairs", 3: "triples", 4: "quadruples"}
SHOWN = 5
"""Blocks of a site that are listed."""
SHADES = "░▒▓█"
NO_ROWS = "·"
LABEL = 16
"""Characters of a name beside the heat map."""
CELL = 24
"""Width of a cell of the picture, in pixels."""


def coverage(
    file: Annotated[Path, typer.Argument(help="The file that describes the federation.", show_default=False)],
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
    picture: Annotated[Path | None, typer.Option(help="Draw the rows of every pair of columns here, .svg.")] = None,
) -> None:
    """Show which columns are together at some site, which methods can run, and what is missing for the others."""
    from fedrcd.data.federation import read_federation
    from fedrcd.federation.masking.possible import described
    from fedrcd.federation.past_costs import past_costs
    from fedrcd.methods.coverage_report import coverage_report

    if picture and picture.suffix != ".svg":
        raise ConfigError(f"--picture {picture}: the ending must be .svg")
    with progress_bar("counting combinations"):
        federation = read_federation(file)
        report, masks = coverage_report(federation.layout()), described(federation)
        costs = past_costs(federation)
    if picture:
        try:
            picture.write_text(svg(report), encoding="utf-8")
        except OSError as problem:
            raise FileError(f"cannot write {picture}: {problem.strerror}") from None
    if json:
        print(as_json(report, masks, costs))
        return
    show(report)
    for line in [*costs, *masks]:
        print(line)
    if picture:
        print(f"written: {picture}")


def as_json(report: CoverageReport, masks: list[str], past_costs: list[str]) -> str:
    """The report for programs; verdicts, remedies, what can be masked and what a past costs in words too."""
    import json
    from dataclasses import asdict

    content = asdict(report)
    content["verdicts"] = [{**asdict(verdict), "words": verdict.words} for verdict in report.verdicts]
    content["remedies"] = [{**asdict(remedy), "words": remedy.words} for remedy in report.remedies]
    return json.dumps({**content, "masks": masks, "past_costs": past_costs}, indent=1)


def show(report: CoverageReport) -> None:
    """Print a report for people: sites, combinations, heat map, methods, remedies."""
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    console.print(
        f"{_count(len(report.variables), 'variable')}, {_count(len(report.sites), 'site')}, "
        f"{_count(report.blocks, 'block')}, {_count(report.rows, 'row')}\n"
    )
    for table in (_sites(report), _combinations(report)):
        console.print(table)
        console.print()
    console.print(f"rows with all {len(report.variables)} columns at one site: {report.complete_rows:,}\n")
    _show_heat_map(report, console)
    console.print(_methods(report))
    if report.remedies:
        console.print()
    for remedy in report.remedies:
        console.print(_plain(f"one more column for {remedy.needs}: {remedy.words}"), soft_wrap=True)


def _sites(report: CoverageReport) -> Table:
    table = _table("site", "columns", "rows", "blocks")
    for site in report.sites:
        more = f" and {len(site.blocks) - SHOWN} more" if len(site.blocks) > SHOWN else ""
        blocks = _plain(", ".join(site.blocks[:SHOWN]) + more)
        table.add_row(_plain(site.name), str(site.columns), f"{site.rows:,}", blocks)
    return table


def _combinations(report: CoverageReport) -> Table:
    table = _table("together", "covered", "of", "fewest rows", "median", "most", "fewest for")
    for one in report.together:
        numbers = (one.covered, one.total, one.fewest, one.median, one.most)
        table.add_row(NAMES[one.size], *(f"{number:,.10g}" for number in numbers), _plain(", ".join(one.worst)))
    return table


def _methods(report: CoverageReport) -> Table:
    table = _table("method", "needs", "rows", "verdict")
    for verdict in report.verdicts:
        rows = f"{verdict.rows:,}" if verdict.rows else "-"
        table.add_row(verdict.method, verdict.needs, rows, _plain(verdict.words))
    return table


def _table(*headers: str) -> Table:
    from rich.table import Table

    table = Table(*headers, box=None, pad_edge=False)
    for column in table.columns[1:-1]:
        column.justify = "left" if column.header == "needs" else "right"
    return table


def _plain(text: str) -> Text:
    """Text in which brackets are no markup."""
    from rich.text import Text

    return Text(_clean(text))


def _show_heat_map(report: CoverageReport, console: Console) -> None:
    """Print the rows of every pair as shades, a cell two characters wide."""
    from rich.table import Table

    most = max(map(max, report.pair_counts))
    if LABEL + 1 + 2 * len(report.variables) > console.width:
        console.print("rows of every pair: too wide to print here; draw it with --picture FILE.svg\n")
        return
    console.print(f"rows of every pair, {NO_ROWS} none, {SHADES} up to {most:,}")
    grid = Table.grid(padding=(0, 1))
    for name, counts in zip(report.variables, report.pair_counts, strict=True):
        cells = [SHADES[(len(SHADES) * count - 1) // most] if count else NO_ROWS for count in counts]
        grid.add_row(_plain(_short(name)), "".join(2 * cell for cell in cells))
    console.print(grid)
    console.print()


def svg(report: CoverageReport) -> str:
    """A picture of the rows of every pair: the darker, the more; none is red."""
    most = max(map(max, report.pair_counts))
    names = [_short(name) for name in report.variables]
    margin = 8 * max(map(len, names)) + 12
    side = margin + CELL * len(names)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{side + 220}" height="{side + 28}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{margin}" y="{side + 18}">rows of every pair: {most:,} darkest, none red</text>',
    ]
    for i, name in enumerate(names):
        middle = margin + CELL * i + CELL // 2 + 4
        text = escape_xml(name)
        parts.append(f'<text x="{margin - 6}" y="{middle}" text-anchor="end">{text}</text>')
        parts.append(f'<text transform="translate({middle},{margin - 6}) rotate(-90)">{text}</text>')
        parts += [_cell(report, i, j, most, margin) for j in range(len(names))]
    return "\n".join([*parts, "</svg>", ""])


def _cell(report: CoverageReport, i: int, j: int, most: int, margin: int) -> str:
    """The square of one pair, which tells its rows when pointed at."""
    count = report.pair_counts[i][j]
    fill = f"hsl(215,60%,{92 - round(62 * count / most)}%)" if count else "#d62728"
    what = escape_xml(_clean(f"{report.variables[i]}, {report.variables[j]}: {count:,} rows"))
    place = f'x="{margin + CELL * j}" y="{margin + CELL * i}" width="{CELL - 1}" height="{CELL - 1}"'
    return f'<rect {place} fill="{fill}"><title>{what}</title></rect>'


def _short(name: str) -> str:
    """A name of at most `LABEL` characters."""
    return _clean(name if len(name) <= LABEL else name[: LABEL - 1] + "…")


def _clean(text: str) -> str:
    """Text without characters that move a cursor or that XML does not allow."""
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in text)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"
