"""The same rows by every way in: one digest, however they are cut; and what is wrong with them, in one line."""

import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv, feather, parquet
from tests.refusals import PLANTED, refused

import fedrcd
from fedrcd.data.open_tables import open_tables
from fedrcd.data.sources import held, text_file
from fedrcd.data.sources.address import source_at
from fedrcd.data.sources.arrow_rows import ArrowRows
from fedrcd.data.table import Table
from fedrcd.errors import DataError, FileError
from fedrcd.protocol.in_process import in_process
from fedrcd.protocol.pair_question import PairQuestion
from fedrcd.protocol.wire import digest_of
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import ARITHMETIC

pytestmark = pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning")  # notes on the data do not matter here


@pytest.fixture
def streamed(monkeypatch):
    """Nothing is small: whatever comes is read anew in every pass."""
    monkeypatch.setattr(held, "HELD", 0)
    monkeypatch.setattr(text_file, "SMALL", 0)
    monkeypatch.setattr(text_file, "SMALL_COMPRESSED", 0)
    monkeypatch.setattr(text_file, "BYTES_PER_BLOCK", 20_000)


def sample(n=3000, seed=0):
    return pd.DataFrame(np.random.default_rng(seed).laplace(size=(n, 4)).cumsum(axis=1), columns=list("abcd"))


def arrow_of(frame):
    return pa.Table.from_pandas(frame, preserve_index=False)


WRITERS = {
    ".csv": lambda table, path: csv.write_csv(table, path),
    ".parquet": lambda table, path: parquet.write_table(table, path, row_group_size=500),
    ".arrow": lambda table, path: feather.write_feather(table, path, compression="uncompressed", chunksize=700),
    ".feather": lambda table, path: feather.write_feather(table, path, compression="zstd"),
}


def cut(table, folder, ending, ends):
    """A table in several files."""
    folder.mkdir()
    for number, (first, last) in enumerate(zip([0, *ends], [*ends, table.num_rows], strict=True)):
        WRITERS[ending](table.slice(first, last - first), folder / f"part-{number:03}{ending}")
    return folder


def digest(rows):
    """Of the exact sums of rows."""
    (table,) = open_tables(rows, "rows", gaps=True)
    transport = in_process(
        [Table(table, "s", "s", columns=table.columns, source="rows")],
        table.columns,
        frame=Frame.identity(len(table.columns)),
        grid=ARITHMETIC["exact"],
    )
    question = PairQuestion(transport.setting.variables, transport.setting.frame, order=4, grid=transport.setting.grid)
    return digest_of(transport.pool(question))


@pytest.mark.parametrize("ending", WRITERS)
def test_every_kind_of_file_gives_the_bits_of_the_array(streamed, tmp_path, ending):
    frame = sample()
    (found,) = open_tables(cut(arrow_of(frame), tmp_path / "rows", ending, [1, 1200]), "rows")
    assert isinstance(found.data, ArrowRows)  # nothing was kept
    assert found.values.tobytes() == frame.to_numpy().tobytes()
    assert found.values.tobytes() == found.values.tobytes()  # any number of times


def test_compressed_text_too(streamed, tmp_path):
    frame = sample()
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(frame.to_csv(index=False).encode()))
    (found,) = open_tables(path, "rows")
    assert found.values.tobytes() == frame.to_numpy().tobytes()


@pytest.mark.parametrize("arithmetic", ["float", "exact"])
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"trim": 8.0, "within": "standardise"},
        {"missing": "available", "drop": ["b"], "trim": 9.0},
        {"missing_codes": [0], "within": "centre"},
    ],
    ids=str,
)
def test_a_stream_gives_the_bits_of_an_array(streamed, tmp_path, how, arithmetic):
    frame = sample()
    frame.iloc[::50, 2] = np.nan if "missing_codes" not in how else 0.0
    paths = [cut(arrow_of(frame[part]), tmp_path / name, ".parquet", [300]) for name, part in PARTS.items()]
    found = fedrcd.discover(paths, "fedrcd-s", arithmetic=arithmetic, **how)
    plain = fedrcd.discover(
        [frame[part].to_numpy() for part in PARTS.values()],
        "fedrcd-s",
        arithmetic=arithmetic,
        **({**how, "drop": ["x2"]} if "drop" in how else how),
    )
    assert found.B.tobytes() == plain.B.tobytes()


PARTS = {"one": slice(0, 1500), "two": slice(1500, 3000)}


def test_replicates_are_those_of_arrays(streamed, tmp_path):
    paths = [cut(arrow_of(sample()[part]), tmp_path / name, ".csv", [300]) for name, part in PARTS.items()]
    how = {"n_sampling": 3, "random_state": 3, "n_jobs": 1}
    tables = [Table(sample()[part].to_numpy(), columns=tuple("abcd"), source=name) for name, part in PARTS.items()]
    plain, found = fedrcd.bootstrap(tables, **how), fedrcd.bootstrap(paths, **how)
    assert found.adjacency_matrices_.tobytes() == plain.adjacency_matrices_.tobytes()


@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(30, 200),
    ends=st.lists(st.integers(0, 200), max_size=4),
    ending=st.sampled_from(sorted(WRITERS)),
    shuffle=st.booleans(),
    seed=st.integers(0, 5),
)
def test_exact_sums_have_one_digest_however_rows_are_cut(tmp_path_factory, n, ends, ending, shuffle, seed):
    frame = sample(n, seed)
    if shuffle:
        frame = frame.sample(frac=1, random_state=seed)
    inside = sorted(min(end, n) for end in ends)
    inside = [end for end in inside if 0 < end < n] if ending == ".csv" else inside  # no types in a file without rows
    folder = cut(arrow_of(frame), tmp_path_factory.mktemp("cut") / "rows", ending, inside)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(held, "HELD", 0)
        assert digest(folder) == digest(sample(n, seed).to_numpy())


class Once:
    """Gives a stream as often as it is asked, and is nothing else."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, schema=None):
        return self.table.__arrow_c_stream__(schema)


def as_polars(frame):
    return pytest.importorskip("polars", reason="polars is not here").from_pandas(frame)


def as_duckdb(frame):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not here")
    return duckdb.from_arrow(arrow_of(frame), connection=duckdb.connect())


@pytest.mark.parametrize("size", [0, held.HELD], ids=["streamed", "kept"])
@pytest.mark.parametrize(
    "made",
    [
        lambda frame: frame,
        arrow_of,
        lambda frame: arrow_of(frame).to_reader(max_chunksize=77),
        lambda frame: pyarrow.dataset.dataset(arrow_of(frame)),
        lambda frame: Once(arrow_of(frame)),
        as_polars,
        as_duckdb,
    ],
    ids=["pandas", "arrow", "reader", "dataset", "stream", "polars", "duckdb"],
)
def test_whatever_exports_a_stream_is_a_table(monkeypatch, made, size):
    monkeypatch.setattr(held, "HELD", size)
    found = fedrcd.discover([made(sample()), made(sample(2000, 1))], "fedrcd-ni", arithmetic="exact")
    plain = fedrcd.discover([sample(), sample(2000, 1)], "fedrcd-ni", arithmetic="exact")
    assert found.B.tobytes() == plain.B.tobytes()
    fit = fedrcd.FedLiNGAM().fit([made(sample()), made(sample(2000, 1))])
    assert list(fit.causal_order_) == list(fedrcd.FedLiNGAM().fit([sample(), sample(2000, 1)]).causal_order_)
    table = fedrcd.Table(made(sample()), site="north")
    assert open_tables(table, "t")[0].values.tobytes() == sample().to_numpy().tobytes()


def test_labels_and_identifiers_come_with_a_stream(streamed, tmp_path):
    frame = sample(300).assign(id=[f"{k:04}" for k in range(300)], block=["u", "v", "v"] * 100)
    kept = frame.to_numpy()[:, :4].astype(float)
    for ending in (".csv", ".parquet"):
        folder = cut(arrow_of(frame), tmp_path / ending[1:], ending, [40])
        first, second = open_tables(Table(folder, site="s", block_column="block", id="id"), "rows")
        assert (first.block, second.block) == ("u", "v")
        np.testing.assert_array_equal(first.values, kept[::3])
        assert [one for chunk in first.chunks() for one in chunk.ids] == [f"{k:04}" for k in range(0, 300, 3)]


def test_a_type_that_changes_halfway_through_a_folder_is_told_by_file_and_column(tmp_path):
    frame = sample(100)
    folder = cut(arrow_of(frame), tmp_path / "rows", ".parquet", [50])
    parquet.write_table(arrow_of(frame.assign(b=PLANTED)), folder / "part-009.parquet")
    refused(
        lambda: fedrcd.discover(folder),
        DataError,
        "column 'b' is numbers in part-000.parquet of rows and text in part-009",
    )


def test_text_after_many_numbers_is_told_by_column(streamed, tmp_path):
    frame = sample(4000).astype(object)
    frame.iloc[3900, 1] = f"{PLANTED} mg"
    frame.to_csv(tmp_path / "rows.csv", index=False)
    refused(lambda: fedrcd.discover(tmp_path / "rows.csv"), DataError, "column 'b' of rows.csv holds numbers at first")


def test_a_file_of_a_folder_that_lacks_a_column_is_named(tmp_path):
    folder = cut(arrow_of(sample(100)), tmp_path / "rows", ".parquet", [50])
    parquet.write_table(arrow_of(sample(5)[["a", "b", "c"]]), folder / "part-009.parquet")
    refused(
        lambda: fedrcd.discover(folder), DataError, "part-009.parquet and part-000.parquet of rows differ in column 'd'"
    )


def test_rows_that_change_between_passes_are_noticed(streamed, tmp_path):
    folder = cut(arrow_of(sample(100)), tmp_path / "rows", ".parquet", [50])
    (table,) = open_tables(folder, "rows")
    parquet.write_table(arrow_of(sample(50, 7)), folder / "part-001.parquet")
    refused(lambda: table.values, DataError, "rows changed while it was read; run again")

    class Growing(Once):
        def __arrow_c_stream__(self, schema=None):
            self.table = pa.concat_tables([self.table, self.table.slice(0, 1)])
            return super().__arrow_c_stream__(schema)

    refused(lambda: fedrcd.discover(Growing(arrow_of(sample(100)))), DataError, "the table changed while it was read")


def test_a_damaged_file_of_a_folder_is_named(streamed, tmp_path):
    folder = cut(arrow_of(sample(2000)), tmp_path / "rows", ".parquet", [50])
    raw = bytearray((folder / "part-001.parquet").read_bytes())
    raw[500:9000] = bytes(8500)
    (folder / "part-001.parquet").write_bytes(raw)
    refused(lambda: fedrcd.discover(folder), FileError, "part-001.parquet")


def test_a_pattern_without_files_says_so(tmp_path):
    refused(lambda: source_at(tmp_path / "*.parquet"), FileError, "holds no file that ends in")
