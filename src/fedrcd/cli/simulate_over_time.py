"""`fedrcd simulate --lags`: tables of subjects who are seen several times, one per site."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedrcd.errors import ConfigError, FileError

if TYPE_CHECKING:
    import pandas as pd

    from fedrcd.data.federation import Federation
    from fedrcd.data.simulate.over_time import ModelOverTime

TIME, SUBJECT = "visit", "id"


def simulate_over_time(
    out: Path, *, p: int, sites: int, lags: int, subjects: int, visits: int, parquet: bool, seed: int, **model: Any
) -> str:
    """Write a table per site, the federation file and the truth; what was written, in words."""
    import numpy as np

    from fedrcd.data.simulate.over_time import random_model_over_time

    if sites < 1:
        raise ConfigError(f"sites must be at least 1, got {sites}")
    rng = np.random.default_rng(seed)
    drawn = random_model_over_time(p, lags=lags, rng=rng, **model)
    names = [f"site_{k:0{len(str(sites))}d}" for k in range(1, sites + 1)]
    tables = {name: _table(drawn, name, subjects, visits, rng) for name in names}
    federation = _federation(drawn, names, subjects * (visits - lags))
    _describe(out, drawn, federation)
    for name, table in tables.items():
        path = out / f"{name}.{'parquet' if parquet else 'csv'}"
        try:
            if parquet:
                table.to_parquet(path, index=False)
            else:
                table.to_csv(path, index=False)
        except OSError as problem:
            raise FileError(f"cannot write {path}: {problem.strerror}") from None
    seen = f"{subjects} subjects with {visits} rows each"
    return f"written: {sites} tables of {seen}, {p} variables, federation.toml and truth.json in {out}"


def _table(model: ModelOverTime, site: str, subjects: int, visits: int, rng: Any) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    rows = model.sample(subjects, visits, rng).reshape(-1, len(model.names))
    table = pd.DataFrame(rows, columns=list(model.names))
    width = len(str(subjects))
    table.insert(0, SUBJECT, np.repeat([f"{site}-{k:0{width}d}" for k in range(1, subjects + 1)], visits))
    table.insert(1, TIME, np.tile(np.arange(visits), subjects))
    return table


def _federation(model: ModelOverTime, sites: list[str], rows: int) -> Federation:
    from fedrcd.data.federation import BlockEntry, Federation, SiteEntry

    blocks = [f"block_{name.removeprefix('site_')}" for name in sites]
    plain = Federation(
        model.names,
        tuple(SiteEntry(name, model.names, (block,)) for name, block in zip(sites, blocks, strict=True)),
        tuple(BlockEntry(block, rows) for block in blocks),
        id_column=SUBJECT,
        unit="subject",
    )
    return plain.with_past(model.lags, time_column=TIME, step=1.0)


def _describe(out: Path, model: ModelOverTime, federation: Federation) -> None:
    from fedrcd.data.federation import write_federation
    from fedrcd.data.simulate.over_time import truth_over_time

    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / "truth.json").write_text(truth_over_time(model), encoding="utf-8")
    except OSError as problem:
        raise FileError(f"cannot write to {out}: {problem.strerror}") from None
    write_federation(out / "federation.toml", federation)
