"""Rows that a cluster reads: one digest, whatever workers there are, and whichever of them dies."""

import os
import pickle
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.dask_cluster import cluster
from tests.federation.couriers import Direct
from tests.federation.sites import horizontal

import fedrcd
from fedrcd.data.rows import spread_of
from fedrcd.data.sources.address import source_at
from fedrcd.data.sources.arrow_rows import ArrowRows
from fedrcd.data.sources.dask_rows import DaskCluster, DaskFolder
from fedrcd.data.sources.folder import Folder
from fedrcd.data.table import Table
from fedrcd.errors import ConfigError, FileError
from fedrcd.federation.coordinator.conduct import Conductor
from fedrcd.protocol.groups import Grouping
from fedrcd.protocol.site import NOWHERE, LocalSite
from fedrcd.protocol.transport import Setting
from fedrcd.statistics.frame import Frame
from fedrcd.statistics.grid import ARITHMETIC

distributed = pytest.importorskip("distributed", reason="Dask is not here: pip install 'fedrcd[dask]'")
pytestmark = [
    pytest.mark.filterwarnings("ignore::fedrcd.errors.FedrcdWarning"),  # notes on the data do not matter here
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore:.*:pytest.PytestUnraisableExceptionWarning"),  # sockets of Dask's own loop
]
X = np.random.default_rng(0).laplace(size=(20_000, 4)).cumsum(axis=1)
COLUMNS = list("abcd")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "folder"
    path.mkdir()
    for number, part in enumerate(np.array_split(X, [7, 5000, 5001, 12_000, 17_000])):
        parquet.write_table(pa.table(dict(zip(COLUMNS, part.T, strict=True))), path / f"{number}.parquet")
    return path


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory):
    """The address of a scheduler with two workers, each a process."""
    with cluster(tmp_path_factory.mktemp("dask"), 2) as address:
        yield address


def found(rows, **how):
    return fedrcd.discover(rows, "fedrcd-s", arithmetic="exact", trim=30.0, **how).B.tobytes()


@pytest.fixture(scope="module")
def plain():
    return found(pd.DataFrame(X, columns=COLUMNS))


def test_a_folder_that_a_cluster_reads_gives_the_bits_of_an_array(scheduler, folder, plain):
    assert found(source_at(f"dask:{scheduler}{folder}")) == plain


def test_a_frame_of_dask_too(scheduler, plain):
    frames = pytest.importorskip("dask.dataframe", reason="Dask's data frames are not here: pip install 'fedrcd[dask]'")
    with distributed.Client(scheduler):
        assert found(frames.from_pandas(pd.DataFrame(X, columns=COLUMNS), npartitions=5)) == plain


def test_rows_that_are_chosen_by_place_or_identifier_are_summed_here(folder):
    """Places in a part are not those in the table."""
    rows = ArrowRows.of(source_at(f"dask:tcp://127.0.0.1:1{folder}"))
    table = Table(rows, columns=rows.columns)
    first = lambda chunk: chunk.places < 3 if chunk.places is not None else chunk.values[:, 0] > 0  # noqa: E731
    assert spread_of(table.select(first)) is None
    assert len(spread_of(table.select(lambda chunk: chunk.values[:, 0] > 0, by_values=True)).parts) == 6


def test_the_secret_of_the_groups_does_not_go_to_a_cluster(folder):
    sent = []
    rows = ArrowRows.of(source_at(f"dask:tcp://127.0.0.1:1{folder}"))
    kept_here = replace(rows, place=replace(rows.place, cluster=Listening(sent)))
    site = LocalSite("s", Table(kept_here, columns=rows.columns), grouping=Grouping(b"SECRET" * 5))
    setting = Setting(rows.columns, Frame.identity(4), grid=ARITHMETIC["exact"])
    site.answer(setting.tensor())
    assert b"SECRET" in pickle.dumps(replace(site, rows=NOWHERE))  # what the site itself would have told
    assert b"SECRET" not in pickle.dumps(sent)


def test_a_site_on_a_cluster_answers_as_one_with_a_file(scheduler, tmp_path):
    disk = horizontal(tmp_path / "files")
    names = [site.name for site in disk.federation.sites]

    def conducted(disk, courier):
        return Conductor(disk.plan("fedrcd-s"), disk.federation, say=lambda _: None).run(courier, names)

    plain = conducted(disk, Direct(disk))
    table = parquet.read_table(disk.data(names[0]))
    (tmp_path / "folder").mkdir()
    for number, (first, last) in enumerate([(0, 3), (3, 150), (150, None)]):
        parquet.write_table(table[first:last], tmp_path / "folder" / f"{number}.parquet")
    elsewhere = disk.apart(tmp_path / "elsewhere")
    courier = Direct(elsewhere)
    courier.services[names[0]] = elsewhere.service(names[0], data=f"dask:{scheduler}{tmp_path / 'folder'}")
    assert conducted(elsewhere, courier).estimate.B.tobytes() == plain.estimate.B.tobytes()


@dataclass(frozen=True)
class Listening:
    """Adds up here, and keeps what a cluster would be sent."""

    sent: list

    def add_up(self, function, parts):
        self.sent.append((function, parts[0].place.name if hasattr(parts[0], "place") else ""))
        return reduce(add, map(function, parts))


@dataclass(frozen=True)
class Deadly:
    """A file of which the first worker that reads it dies."""

    file: object
    mark: str
    here: int

    @property
    def name(self):
        return self.file.name

    @property
    def count(self):
        return self.file.count

    @property
    def waits(self):
        return False

    def stamp(self):
        return self.file.stamp()

    def schema(self):
        return self.file.schema()

    def batches(self, columns, texts=()):
        if os.getpid() != self.here:
            try:
                os.close(os.open(self.mark, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass
            else:
                os._exit(1)
        yield from self.file.batches(columns, texts)


def test_no_scheduler_and_no_folder_are_told(tmp_path, folder):
    with pytest.raises(FileError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:1"):
        DaskCluster("tcp://127.0.0.1:1").add_up(len, [source_at(folder)])
    with pytest.raises(ConfigError, match="a cluster is named by its scheduler and a folder"):
        source_at("dask:nonsense")
    with pytest.raises(FileError, match="there is no folder"):
        source_at("dask:tcp://127.0.0.1:1/no/such/folder")


def test_a_worker_that_dies_in_the_middle_of_a_sum_changes_no_bit(scheduler, folder, plain, tmp_path):
    """Comes last: the worker does not come back."""
    mark = tmp_path / "died"
    whole = source_at(folder)
    files = (*whole.files[:3], Deadly(whole.files[3], str(mark), os.getpid()), *whole.files[4:])
    assert found(DaskFolder(Folder(files, "rows"), DaskCluster(scheduler))) == plain
    assert mark.exists()
    with distributed.Client(scheduler) as client:
        assert len(client.scheduler_info(n_workers=-1)["workers"]) == 1


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_many_rows_on_any_number_of_workers_of_which_one_dies(tmp_path, workers):
    """The only worker is started again; of several the others go on."""
    rows = np.random.default_rng(3).laplace(size=(200_000, 4)).cumsum(axis=1)
    plain = found(pd.DataFrame(rows, columns=COLUMNS))
    (tmp_path / "folder").mkdir()
    for number, part in enumerate(np.array_split(rows, [1, 70_001, 70_002, 120_000, 160_000, 180_000])):
        parquet.write_table(
            pa.table(dict(zip(COLUMNS, part.T, strict=True))), tmp_path / "folder" / f"{number}.parquet"
        )
    whole, mark = source_at(tmp_path / "folder"), tmp_path / "died"
    with cluster(tmp_path, workers, nanny=workers == 1) as address:
        assert found(source_at(f"dask:{address}{tmp_path / 'folder'}")) == plain
        files = (*whole.files[:4], Deadly(whole.files[4], str(mark), os.getpid()), *whole.files[5:])
        assert found(DaskFolder(Folder(files, "rows"), DaskCluster(address))) == plain
        assert mark.exists()
