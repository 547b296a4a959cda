"""A query of PostgreSQL, through ADBC: batches come as Arrow, nothing is parsed row by row."""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from fedrcd.data.sources.query import needs, one_statement, quoted, selecting
from fedrcd.errors import ConfigError, DataError, FileError

if TYPE_CHECKING:
    import pyarrow as pa

BYTES_PER_BATCH = 4_000_000

SNAPSHOT = (
    "set transaction isolation level repeatable read, read only",
    "set local synchronize_seqscans = off",  # every pass must meet the rows in the same order
    "set local max_parallel_workers_per_gather = 0",
    "set local statement_timeout = 0",
    "set local idle_in_transaction_session_timeout = 0",
)

NUMERIC = "numeric"

CONNECTING = "cannot connect to"

REFUSED = "the server lets no such user into such a database; a password belongs in PGPASSFILE, PGPASSWORD or a service"

CODES = {
    "42501": "this user may not read what it names",
    "42P01": "there is no such table",
    "42703": "there is no such column",
    "42601": "it is no SQL that can stand in `select ... from (QUERY)`",
    "57014": "it was cancelled",
    "08": "the connection was lost; run again",
    "57P": "the connection was lost; run again",
    "53": "the server has no memory, disk or connection left",
}
"""What the beginnings of SQLSTATE mean: the server's own text may quote values."""


class PostgresQuery:
    """The rows that a query gives, read only, in one snapshot that lasts as long as this object.

    Parameters
    ----------
    address : str
        `postgresql://USER@HOST/DATABASE` or `postgresql:///?service=NAME`. Never with a password: that comes from the
        environment, a password file or a service file, as libpq reads them.
    query : str
        One statement that gives rows.
    """

    count = None
    waits = True

    def __init__(self, address: str, query: str) -> None:
        parts = urlsplit(address)
        if parts.password is not None or "password" in parse_qs(parts.query):
            raise ConfigError(
                "the address of a database must not hold a password: others see it; set PGPASSWORD or PGPASSFILE, or "
                "name a service: postgresql:///?service=NAME"
            )
        self.name = f"postgresql://{parts.hostname or ''}{parts.path}"
        self.query = one_statement(query, self.name)
        self._connection = self._connected(address)
        weakref.finalize(self, _close, self._connection)
        self._kinds: pa.Schema | None = None

    def stamp(self) -> None:
        """A snapshot does not change."""

    def schema(self) -> pa.Schema:
        """What the query gives; `numeric` counts as float64."""
        import pyarrow as pa

        if self._kinds is None:
            with self._told(), self._connection.cursor() as cursor:
                found = cursor.adbc_execute_schema(selecting(["*"], self.query))
            kinds = [pa.float64() if _is_numeric(one) else one.type for one in found]
            self._kinds = pa.schema(list(zip(found.names, kinds, strict=True)))
            self._numeric = {one.name for one in found if _is_numeric(one)}
        return self._kinds

    def batches(self, columns: Sequence[str], texts: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        """The query runs once for each pass, in the same snapshot."""
        self.schema()
        chosen = [
            f"{quoted(name)}::float8 as {quoted(name)}" if name in self._numeric else quoted(name)
            for name in dict.fromkeys(columns)
        ]
        with self._told(), self._connection.cursor() as cursor:
            cursor.adbc_statement.set_options(**{"adbc.postgresql.batch_size_hint_bytes": str(BYTES_PER_BATCH)})
            cursor.execute(selecting(chosen, self.query))
            yield from cursor.fetch_record_batch()

    def _connected(self, address: str) -> Any:
        try:
            from adbc_driver_postgresql import dbapi
        except ImportError:
            raise needs("postgres") from None
        with self._told(CONNECTING):
            connection = dbapi.connect(address)
            with connection.cursor() as cursor:
                for statement in SNAPSHOT:
                    cursor.execute(statement)
        return connection

    @contextmanager
    def _told(self, what: str = "the query failed at") -> Iterator[None]:
        """Errors of the driver and the server, without a word of theirs."""
        from adbc_driver_manager import Error

        try:
            yield
        except Error as problem:
            code = problem.sqlstate or ""
            raise self._fault(what, code, str(problem)) from None
        except OSError as problem:  # in the middle of a stream errors arrive as those of Arrow
            found = re.search(r"SQLSTATE:? ?\(?([0-9A-Z]{5})", str(problem))
            raise self._fault(what, found[1] if found else "08", str(problem)) from None

    def _fault(self, what: str, code: str, text: str) -> DataError | FileError:
        known = next((words for start, words in CODES.items() if code.startswith(start)), "")
        if not code:
            known = CODES["08"]
            if what == CONNECTING:
                known = REFUSED if "FATAL" in text or "password" in text else "no server answers there"
        tail = f"{known or 'run it in psql to see why'}" + (f" (SQLSTATE {code})" if code else "")
        kind = DataError if code[:2] in {"42", "22"} and code != "42501" else FileError
        return kind(f"{what} {self.name}: {tail}")


def _is_numeric(field: pa.Field) -> bool:
    return (field.metadata or {}).get(b"POSTGRESQL:type") == NUMERIC.encode()


def _close(connection: Any) -> None:
    """Let go of a snapshot, and of a server that may be gone."""
    from adbc_driver_manager import Error

    try:
        connection.close()
    except (Error, RuntimeError):
        return
