"""`fedrcd simulate`: tables of a random linear model, one per site."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from fedrcd.cli.patience import patience
from fedrcd.errors import ConfigError, FileError


def simulate(
    out: Annotated[Path, typer.Option(help="Folder for the tables and truth.json.")] = Path("simulated"),
    p: Annotated[int, typer.Option(help="Number of variables.")] = 20,
    rows: Annotated[int, typer.Option(help="Rows per site.")] = 2000,
    sites: Annotated[int, typer.Option(help="Number of sites.")] = 10,
    noise: Annotated[str, typer.Option(help="Noise family, or mixed.")] = "laplace",
    density: Annotated[float | None, typer.Option(help="Probability of an edge per pair; 0.2 by default.")] = None,
    degree: Annotated[float | None, typer.Option(help="Expected edges per variable, instead of a density.")] = None,
    topology: Annotated[str | None, typer.Option(help="A bnlearn network instead of a random graph.")] = None,
    scheme: Annotated[str, typer.Option(help="Split of rows: iid, unequal, or sorted (by the first column).")] = "iid",
    standardise: Annotated[bool, typer.Option(help="Divide every column by its standard deviation.")] = False,
    parquet: Annotated[bool, typer.Option(help="Write Parquet instead of CSV.")] = False,
    seed: Annotated[int, typer.Option(help="Of all random numbers.")] = 0,
) -> None:
    """Simulate a LiNGAM model as the paper does and write one table per site, with the truth beside them."""
    import numpy as np

    from fedrcd.data.partition import split_rows
    from fedrcd.data.read import write_table
    from fedrcd.data.simulate import random_model
    from fedrcd.data.table import Table
    from fedrcd.data.topologies import topology as load_topology
    from fedrcd.graphs.exports import edge_list

    if sites < 1 or rows < 1:
        raise ConfigError(f"sites and rows must be at least 1, got {sites} and {rows}")
    rng = np.random.default_rng(seed)
    names, dag = (None, None) if topology is None else load_topology(topology)
    size = p if dag is None else len(dag)
    model = random_model(size, noise=noise, density=density, degree=degree, dag=dag, names=names, rng=rng)
    with patience("drawing rows") as sign:
        X = model.sample(sites * rows, rng)
        if standardise:
            X = X / X.std(axis=0)
        parts = split_rows(len(X), sites, scheme=scheme, by=X[:, 0] if scheme == "sorted" else None, rng=rng)  # type: ignore[arg-type]
        try:
            out.mkdir(parents=True, exist_ok=True)
            truth = {
                "variables": model.names,
                "noise": [noise.name for noise in model.noise],
                "edges": [asdict(edge) for edge in edge_list(model.B, model.names)],
            }
            (out / "truth.json").write_text(json.dumps(truth, indent=1) + "\n", encoding="utf-8")
        except OSError as problem:
            raise FileError(f"cannot write to {out}: {problem.strerror}") from None
        for k, part in enumerate(parts, 1):
            path = out / f"site_{k:0{len(str(sites))}d}.{'parquet' if parquet else 'csv'}"
            sign.say(f"writing {path}")
            write_table(path, Table(np.ascontiguousarray(X[part]), model.names, path.name))
    print(f"written: {sites} tables of {size} variables and truth.json in {out}")
