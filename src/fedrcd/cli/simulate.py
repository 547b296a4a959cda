"""`fedrcd simulate`: tables of a random linear model, one per site."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedrcd.cli.progress_bar import progress_bar
from fedrcd.errors import ConfigError, FileError
from fedrcd.suggest import did_you_mean

if TYPE_CHECKING:
    import numpy as np

    from fedrcd.data.federation import Federation
    from fedrcd.data.simulate.models import LinearModel
    from fedrcd.data.simulate.partition import Part
    from fedrcd.typing import Matrix

PARTITIONS = ("horizontal", "vertical", "hybrid")
BLOCKS = 3


def simulate(
    out: Annotated[Path, typer.Option(help="Folder for the tables, federation.toml and truth.json.")] = Path(
        "simulated"
    ),
    p: Annotated[int, typer.Option(help="Number of variables.")] = 20,
    rows: Annotated[int, typer.Option(help="Rows per site; rows per block if sites share them.")] = 2000,
    sites: Annotated[int, typer.Option(help="Number of sites.")] = 10,
    noise: Annotated[str, typer.Option(help="Noise family, or mixed.")] = "laplace",
    density: Annotated[float | None, typer.Option(help="Probability of an edge per pair; 0.2 by default.")] = None,
    degree: Annotated[float | None, typer.Option(help="Expected edges per variable, instead of a density.")] = None,
    topology: Annotated[str | None, typer.Option(help="A bnlearn network instead of a random graph.")] = None,
    partition: Annotated[
        str, typer.Option(help="What sites hold: rows of their own (horizontal), columns (vertical), or hybrid.")
    ] = "horizontal",
    scheme: Annotated[
        str | None, typer.Option(help="Horizontal split: iid (default), unequal, or sorted by the first column.")
    ] = None,
    blocks: Annotated[int | None, typer.Option(help=f"Hybrid split: blocks of rows, {BLOCKS} by default.")] = None,
    standardise: Annotated[bool, typer.Option(help="Divide every column by its standard deviation.")] = False,
    lags: Annotated[int, typer.Option(help="Steps of time that effects last; subjects are seen several times.")] = 0,
    subjects: Annotated[int, typer.Option(help="With --lags: subjects per site; 1 for one series.")] = 500,
    visits: Annotated[int, typer.Option(help="With --lags: rows of each subject.")] = 6,
    parquet: Annotated[bool, typer.Option(help="Write Parquet instead of CSV.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
) -> None:
    """Simulate a LiNGAM model as the paper does and write one table per site, with the truth beside them."""
    import numpy as np

    from fedrcd.data.simulate.models import random_model
    from fedrcd.data.simulate.partition import as_federation
    from fedrcd.data.simulate.topologies import topology as load_topology

    if lags:
        if topology is not None or partition != "horizontal" or scheme is not None or standardise:
            raise ConfigError("--lags goes with p, sites, noise, density, degree, subjects and visits alone")
        from fedrcd.cli.simulate_over_time import simulate_over_time

        given: dict[str, Any] = {"p": p, "sites": sites, "lags": lags, "subjects": subjects, "visits": visits}
        how: dict[str, Any] = {"noise": noise, "density": density, "degree": degree, "parquet": parquet, "seed": seed}
        print(simulate_over_time(out, **given, **how))
        return
    n = rows * _number_of_blocks(partition, sites, rows, scheme, blocks)
    rng = np.random.default_rng(seed)
    names, dag = (None, None) if topology is None else load_topology(topology)
    size = p if dag is None else len(dag)
    model = random_model(size, noise=noise, density=density, degree=degree, dag=dag, names=names, rng=rng)
    with progress_bar("drawing rows") as bar:
        X = model.sample(n, rng)
        if standardise:
            X = X / X.std(axis=0)
        parts = _parts(X, model.names, partition, sites, scheme or "iid", n // rows, rng)
        federation = as_federation(parts, model.names)
        _describe(out, model, federation)
        for site in federation.sites:
            path = out / f"{site.name}.{'parquet' if parquet else 'csv'}"
            bar.say(f"writing {path}")
            _write_site(
                path, X, model.names, [part for part in parts if part.site == site.name], partition == "horizontal"
            )
    print(f"written: {sites} tables of {size} variables, federation.toml and truth.json in {out}")


def _number_of_blocks(partition: str, sites: int, rows: int, scheme: str | None, blocks: int | None) -> int:
    """Into how many blocks the rows fall, of settings that go together."""
    if partition not in PARTITIONS:
        hint = did_you_mean(partition, PARTITIONS)
        raise ConfigError(f"no partition {partition!r}; known are {', '.join(PARTITIONS)}{hint}")
    if sites < 1 or rows < 1:
        raise ConfigError(f"sites and rows must be at least 1, got {sites} and {rows}")
    if scheme is not None and partition != "horizontal":
        raise ConfigError(f"--scheme is for a horizontal split; drop it from a {partition} one")
    if blocks is not None and partition != "hybrid":
        raise ConfigError(f"--blocks is for a hybrid split; drop it from a {partition} one")
    if blocks is not None and blocks < 1:
        raise ConfigError(f"blocks must be at least 1, got {blocks}")
    return {"horizontal": sites, "vertical": 1, "hybrid": BLOCKS if blocks is None else blocks}[partition]


def _parts(
    X: Matrix, names: tuple[str, ...], partition: str, sites: int, scheme: str, blocks: int, rng: np.random.Generator
) -> list[Part]:
    from fedrcd.data.simulate.partition import column_parts, hybrid_split, row_parts, split_rows, vertical_split

    if partition == "vertical":
        return column_parts(len(X), vertical_split(names, sites, rng=rng))
    if partition == "hybrid":
        return hybrid_split(len(X), names, sites, blocks, rng=rng)
    by = X[:, 0] if scheme == "sorted" else None
    return row_parts(split_rows(len(X), sites, scheme=scheme, by=by, rng=rng), names)  # type: ignore[arg-type]


def _describe(out: Path, model: LinearModel, federation: Federation) -> None:
    """Write what is known besides the rows: the truth, and who holds what."""
    from fedrcd.data.federation import write_federation
    from fedrcd.graphs.exports import edge_list

    written = {f"{site.name}.{ending}" for site in federation.sites for ending in ("csv", "parquet")}
    stale = sorted(path.name for path in out.glob("site_*") if path.name not in written)
    if stale:
        raise ConfigError(f"{out} holds {stale[0]} of another simulation; give an empty folder with --out")
    truth = {
        "variables": model.names,
        "noise": [noise.name for noise in model.noise],
        "edges": [asdict(edge) for edge in edge_list(model.B, model.names)],
    }
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / "truth.json").write_text(json.dumps(truth, indent=1) + "\n", encoding="utf-8")
    except OSError as problem:
        raise FileError(f"cannot write to {out}: {problem.strerror}") from None
    write_federation(out / "federation.toml", federation)


def _write_site(path: Path, X: Matrix, names: tuple[str, ...], parts: list[Part], plain: bool) -> None:
    """Write the blocks of one site to one file; if not `plain`, with a label of the row and of the block in front."""
    import numpy as np
    import pandas as pd

    from fedrcd.data.read import write_table
    from fedrcd.data.table import Table

    columns = [names.index(name) for name in parts[0].columns]
    rows = np.concatenate([part.rows for part in parts])
    values = np.ascontiguousarray(X[rows][:, columns])
    if plain:
        write_table(path, Table(values, columns=parts[0].columns, source=path.name))
        return
    frame = pd.DataFrame(values, columns=list(parts[0].columns))
    frame.insert(0, "id", [f"r{row:05d}" for row in rows])
    frame.insert(1, "block", np.repeat([part.block for part in parts], [len(part.rows) for part in parts]))
    try:
        if path.suffix == ".parquet":
            frame.to_parquet(path, index=False)
        else:
            frame.to_csv(path, index=False)
    except OSError as problem:
        raise FileError(f"cannot write {path}: {problem.strerror}") from None
