"""Results on disk: a tidy Parquet file per experiment, and a journal while it is being made.

| file | holds |
|---|---|
| NAME.parquet | a row per measurement: settings, seeds, what was measured, versions and machine; a rerun repeats it |
| NAME.seconds.parquet | the times of the same rows, which a rerun does not repeat |
| NAME.unfinished.jsonl | finished cells of a run that has not come to its end, a line each |

A run that is killed leaves its journal, whose last line may be torn; the next run goes on from there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # not every system has it; runs are then not kept apart
    fcntl = None  # type: ignore[assignment]

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from experiments.harness.cells import QUICK, Cell, Row, Scale, fingerprint
from experiments.harness.records import SECONDS, Record, provenance
from experiments.harness.run_command import run_command
from fedrcd.errors import ConfigError, FileError
from fedrcd.evaluation.variants import Variant


@dataclass(frozen=True, slots=True)
class ResultsStore:
    """The files of one experiment in a folder, and the scale at which it is run there."""

    folder: Path
    name: str
    scale: Scale = QUICK

    @property
    def results(self) -> Path:
        """The finished results."""
        return self.folder / f"{self.name}.parquet"

    @property
    def times(self) -> Path:
        """The times of the finished results."""
        return self.folder / f"{self.name}.seconds.parquet"

    @property
    def journal(self) -> Path:
        """What an unfinished run has done so far."""
        return self.folder / f"{self.name}.unfinished.jsonl"

    @property
    def recorded(self) -> Scale | None:
        """The scale that the files say they were made at, if one of them can be read."""
        for read in (self._results_header, self._times_header, self._journal_header):
            with suppress(FileError):
                return Scale.parse(read()["scale"])
        return None

    def as_recorded(self) -> ResultsStore:
        """The same at the scale that its files record, for commands that are not told one; at its own if none does."""
        return replace(self, scale=self.recorded or self.scale)

    def open(self, cells: Sequence[Cell]) -> dict[str, Record]:
        """Finished cells by key; results of other settings are refused."""
        wanted = _header(cells, self.scale)
        done: dict[str, Record] = {}
        if self.results.exists():
            self._require_same(self.results, self._results_header(), wanted)
            done |= self.read_finished(cells)
        if self.journal.exists():
            header, records = self.read_journal()
            self._require_same(self.journal, header, wanted)
            self._cut_torn_line()
            done |= records
        return done

    def begin(self, cells: Sequence[Cell], *, fresh: bool = False) -> None:
        """Start a journal, unless there is one; it remembers if everything is to be measured anew."""
        if not self.journal.exists():
            header = {**_header(cells, self.scale), "fresh": fresh}
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                self.journal.write_text(json.dumps(header) + "\n", encoding="utf-8")
            except OSError as problem:
                raise FileError(f"cannot write results to {self.folder}: {problem.strerror}") from None

    @property
    def is_fresh(self) -> bool:
        """Whether an unfinished run was to measure everything anew."""
        return self.journal.exists() and bool(self._journal_header()["fresh"])

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Keep other runs off the journal; the system lets go of it however this one ends."""
        with self.journal.open("rb") as file:
            if fcntl is not None:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    raise ConfigError(
                        f"another run of {self.name} is under way in {self.folder}; wait for it, or choose another "
                        "folder with --results"
                    ) from None
            yield

    def add(self, done: Record) -> None:
        """Add a finished cell to the journal; it is on the disk when this returns."""
        with self.journal.open("a", encoding="utf-8") as file:
            file.write(json.dumps(done) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def finish(self, cells: Sequence[Cell], done: Mapping[str, Record]) -> None:
        """Write the Parquet files, cells in their own order, and drop the journal."""
        header = {**_header(cells, self.scale), "left_out": {}}
        results: list[Row] = []
        times: list[Row] = []
        for cell in cells:
            if cell.key not in done:
                header["left_out"][cell.needs] = header["left_out"].get(cell.needs, 0) + 1
                continue
            one = done[cell.key]
            named = {"cell": cell.key, "task": cell.name}
            results += [{**named, **cell.settings, **row, **one["made"]} for row in one["rows"]]
            times += one["times"]
        self._replace(_table(results), _table(times), header)
        self.journal.unlink(missing_ok=True)

    def clear(self) -> None:
        """Forget everything, unless another run is at it."""
        with self.claimed() if self.journal.exists() else nullcontext():
            new = (_new(self.times), _new(self.results))
            for path in (self.results, self.times, *new, self.journal):
                path.unlink(missing_ok=True)

    def forget(self, method: str, tasks: Collection[str]) -> int:
        """Drop the finished cells that depend on a method, so that the next run measures them anew.

        Parameters
        ----------
        method : str
            Its variants are dropped too.
        tasks : collection of str
            Tasks that run parts of it; of these go the cells that name no method, too.

        Returns
        -------
        int
            How many cells there were.
        """
        results, times = self.tables()
        if len(results) == 0:
            return 0
        names = results["method"].to_pylist() if "method" in results.column_names else [None] * len(results)
        kept = [
            task not in tasks if name is None else Variant.parse(name).method != method
            for task, name in zip(results["task"].to_pylist(), names, strict=True)
        ]
        dropped = {key for key, keep in zip(results["cell"].to_pylist(), kept, strict=True) if not keep}
        if dropped:
            self._replace(results.filter(pa.array(kept)), times.filter(pa.array(kept)), self._results_header())
        return len(dropped)

    def require_finished(self) -> None:
        """Refuse a journal."""
        if self.journal.exists():
            raise ConfigError(
                f"{self.name} is not finished in {self.folder}; "
                f"run it to the end first with {self._command()}, or {self._start_over()}"
            )

    def frame(self) -> pd.DataFrame:
        """Finished results with their times, a row per measurement; refused if cells are missing."""
        if lack := self.lack():
            raise FileError(lack)
        results, times = self.tables()
        frame: pd.DataFrame = results.to_pandas().join(times.to_pandas())
        return frame

    def lack(self) -> str:
        """What keeps the results from being shown, and what to do; empty if nothing does."""
        command = f"run {self._command()}"
        if not self.results.exists():
            unfinished = " to the end" if self.journal.exists() else ""
            return f"there are no finished results in {self.results}; {command}{unfinished} first"
        header = self._results_header()
        missing = header["cells"] - sum(header["left_out"].values()) - len(self._finished_keys())
        return f"{missing} cells are missing from {self.results}; {command} again" if missing else ""

    @property
    def made_at(self) -> Scale:
        """The scale of the finished results."""
        return Scale.parse(self._results_header()["scale"])

    def is_of(self, cells: Sequence[Cell]) -> bool:
        """Whether the finished results were made for just these cells."""
        return bool(self._results_header()["fingerprint"] == fingerprint(cells))

    def holds_any(self, cells: Sequence[Cell]) -> bool:
        """Whether one of these cells is in the finished results."""
        return not self._finished_keys().isdisjoint(cell.key for cell in cells)

    @property
    def left_out(self) -> dict[str, int]:
        """Cells that the finished results lack, by the package they need."""
        return dict(self._results_header()["left_out"])

    def _require_same(self, path: Path, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
        if found["fingerprint"] == wanted["fingerprint"]:
            return
        if found["scale"] != wanted["scale"]:
            problem = f"was made with other settings ({found['scale']}) than those wanted ({wanted['scale']})"
        else:
            problem = (
                f"holds other cells than {self.name} has ({wanted['scale']}): it is another experiment's file, or "
                f"{self.name} has changed since"
            )
        raise ConfigError(f"{path} {problem}; choose another folder with --results, or {self._start_over()}")

    def require_settings(self, cells: Sequence[Cell]) -> None:
        """Refuse results in which a column is missing that says with which settings cells were measured."""
        there = self._finished_keys()
        named = {name for cell in cells if cell.key in there for name in cell.settings}
        if lost := named - set(self.tables()[0].column_names):
            raise self.damaged(self.results, f"it lacks the column {min(lost)}")

    def _finished_keys(self) -> set[str]:
        results, _ = self.tables()
        return set(results["cell"].to_pylist()) if len(results) else set()

    def read_finished(self, cells: Sequence[Cell]) -> dict[str, Record]:
        """Records of the cells that the Parquet files hold, by key."""
        wanted = {cell.key: cell for cell in cells}
        results, times = self.tables()
        records: dict[str, Record] = {}
        for row, time in zip(results.to_pylist(), times.to_pylist(), strict=True):
            key = row["cell"]
            if key not in wanted:
                continue
            made = {name: row[name] for name in provenance()}
            given = {"cell", "task", *made, *wanted[key].settings}
            one = records.setdefault(key, Record(cell=key, rows=[], times=[], made=made))
            one["rows"].append({name: value for name, value in row.items() if value is not None and name not in given})
            one["times"].append({name: value for name, value in time.items() if value is not None})
        return records

    def tables(self) -> tuple[Any, Any]:
        """Results and times, row by row; damaged ones are refused."""
        results, times = self._read(self.results), self._read(self._times_path)
        for name in ("cell", "task", *provenance()) if len(results) else ():
            if name not in results.column_names:
                raise self.damaged(self.results, f"it lacks the column {name}")
            if not pa.types.is_string(results[name].type) or results[name].null_count:
                raise self.damaged(self.results, f"its column {name} does not hold text in every row")
        alike = len(results) == len(times) and self._results_header() == self._times_header()
        if not alike or any(not name.endswith(SECONDS) for name in times.column_names):
            raise self.damaged(self.times, "it does not belong to the results beside it")
        return results, times

    def damaged(self, path: Path, why: str) -> FileError:
        """That one of the files cannot be used, and the way out."""
        return FileError(f"{path} is damaged: {why}; {self.way_out}")

    @property
    def way_out(self) -> str:
        """What to do about a file that cannot be used."""
        return f"restore it, or {self._start_over()}"

    def _replace(self, results: Any, times: Any, header: Mapping[str, Any]) -> None:
        """Write both files beside the old ones, then put them in their place, results first."""
        try:
            _write(_new(self.results), results, header)
            _write(_new(self.times), times, header)
            for path in (self.results, self.times):
                _new(path).replace(path)
        except OSError as problem:
            raise FileError(f"cannot write results to {self.folder}: {problem.strerror}") from None

    @property
    def _times_path(self) -> Path:
        """The times; if a kill has left new results with old times, the new ones, which are then there and whole."""
        is_half_replaced = _new(self.times).exists() and not _new(self.results).exists()
        return _new(self.times) if is_half_replaced else self.times

    def read_journal(self) -> tuple[dict[str, Any], dict[str, Record]]:
        """Header and records of the journal, but for a torn last line."""
        try:
            text = self.journal.read_bytes()
            _, *lines = [json.loads(line) for line in text[: text.rfind(b"\n") + 1].splitlines()]
            records = {
                line["cell"]: Record(cell=line["cell"], rows=line["rows"], times=line["times"], made=line["made"])
                for line in lines
            }
        except (OSError, ValueError, KeyError, TypeError):
            raise self.damaged(self.journal, "a line of it cannot be read") from None
        return self._journal_header(), records

    def _cut_torn_line(self) -> None:
        """Take away what a killed run had begun to write."""
        text = self.journal.read_bytes()
        with self.journal.open("r+b") as file:
            file.truncate(text.rfind(b"\n") + 1)

    def _journal_header(self) -> dict[str, Any]:
        try:
            with self.journal.open("rb") as file:
                header = json.loads(file.readline())
            _require_form(header)
        except (OSError, ValueError, KeyError, TypeError):
            raise self.damaged(self.journal, "its first line does not say how it was made") from None
        return {"fresh": False, **header}

    def _results_header(self) -> dict[str, Any]:
        return self._file_header(self.results)

    def _times_header(self) -> dict[str, Any]:
        return self._file_header(self._times_path)

    def _file_header(self, path: Path) -> dict[str, Any]:
        try:
            header: dict[str, Any] = json.loads((pq.read_schema(path).metadata or {})[b"fedrcd"])
            _require_form(header)
            _ = header["cells"] - sum(header["left_out"].values())
        except (pa.ArrowException, OSError):
            raise self.damaged(path, "it is missing or not a Parquet file") from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise self.damaged(path, "it does not say how it was made") from None
        return header

    def _read(self, path: Path) -> Any:
        try:
            return pq.read_table(path)
        except (pa.ArrowException, OSError):
            raise self.damaged(path, "it is missing or not a Parquet file") from None

    def _start_over(self) -> str:
        return f"start over with {run_command(self.name, self.folder, self.scale, fresh=True)}"

    def _command(self) -> str:
        return run_command(self.name, self.folder, self.scale)


def _header(cells: Sequence[Cell], scale: Scale) -> dict[str, Any]:
    return {"fingerprint": fingerprint(cells), "scale": scale.words, "cells": len(cells)}


def _require_form(header: Any) -> None:
    """Fail with ValueError, KeyError or TypeError on what is no header."""
    _ = header["fingerprint"], Scale.parse(header["scale"])


def _new(path: Path) -> Path:
    """Where a file is written before it takes its place: there is the old one or the new one, never half of it."""
    return path.with_suffix(".writing")


def _write(path: Path, table: Any, header: Mapping[str, Any]) -> None:
    table = table.replace_schema_metadata({"fedrcd": json.dumps(header)})
    pq.write_table(table, path, compression="zstd", compression_level=12)


def _table(rows: Sequence[Row]) -> Any:
    return pa.table({name: _column(rows, name) for name in _names(rows)})


def _names(rows: Iterable[Row]) -> Iterator[str]:
    yield from dict.fromkeys(name for row in rows for name in row)


def _column(rows: Sequence[Row], name: str) -> Any:
    """A column; whole numbers become floats where others of the column are. Three digits of a time are enough."""
    values = [row.get(name) for row in rows]
    if name.endswith(SECONDS):
        return pa.array([None if value is None else float(f"{value:.3g}") for value in values], pa.float32())
    if any(isinstance(value, float) for value in values):
        values = [None if value is None else float(value) for value in values]
    return pa.array(values)
