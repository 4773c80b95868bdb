"""The server's engine in this process: sessions, and which of their functions run beside the plan."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from colonnade_serve import _core
from colonnade_serve._duckdb.engine import Engine
from colonnade_serve._duckdb.session import Session

#: Parameters: names and types.
Parameters = dict[str, str]


class Client:
    """A session, with the checks of the server."""

    def __init__(self, session: Session) -> None:
        assert session.deferred_calls is not None
        self.session = session
        self.deferred_calls = session.deferred_calls

    def define(
        self,
        name: str,
        parameters: Parameters,
        result: str,
        source: str,
        *,
        strict: bool = False,
        volatility: str = "i",
        scalar: Sequence[str] = (),
        kind: str = "scalar",
    ) -> None:
        """CREATE OR REPLACE FUNCTION."""
        given = [(parameter, type_, None, parameter in scalar) for parameter, type_ in parameters.items()]
        assert self.session.functions is not None
        self.session.functions.create(
            {
                "or_replace": True,
                "schema": None,
                "name": name,
                "kind": kind,
                "language": "python_map" if kind == "scalar" else "python",
                "parameters": given,
                "results": [("", result)],
                "volatility": volatility,
                "strict": strict,
                "parallel": "s",
                "style": "numpy",
                "source": source,
            }
        )

    def allowed(self, sql: str) -> _core.AllowedStatement:
        return self.session.statement_check.allowed(sql)

    def run(self, sql: str) -> None:
        """Run a statement that gives no rows."""
        self.session.execute(self.allowed(sql), 1, 1, None)

    def table(self, query: str, batch_rows: int = 122_880) -> pa.Table:
        """The rows of a query, as the server gets them."""
        answer = self.session.execute(self.allowed(query), batch_rows, 1 << 24, None)
        assert answer.stream is not None
        return pa.RecordBatchReader.from_stream(answer.stream).read_all()

    def rows(self, query: str) -> list[tuple[object, ...]]:
        columns = [column.to_pylist() for column in self.table(query).columns]
        return list(zip(*columns, strict=True))

    def both(self, items: str, source: str) -> tuple[pa.Table, pa.Table]:
        """The rows of a query beside the plan and within it. The columns have no names."""
        names = [f"c{at}" for at in range(len(self.table(f"SELECT {items} {source} LIMIT 0").columns))]
        before = self.deferred_calls.runs
        beside = self.table(f"SELECT {items} {source}").rename_columns(names)
        assert self.deferred_calls.runs == before + 1, "it did not run beside the plan"
        within = self.table(f"SELECT * FROM (SELECT {items} {source})").rename_columns(names)
        assert self.deferred_calls.runs == before + 1, "it did not run within the plan"
        return beside, within


@contextmanager
def engine(processes: _core.FunctionProcesses) -> Iterator[Engine]:
    """A database in memory."""
    made = Engine(":memory:", processes=processes, scratch=Path(scratch().name))
    try:
        yield made
    finally:
        made.close()


@functools.cache
def scratch() -> tempfile.TemporaryDirectory[str]:
    """Where the engines of this process find PostgreSQL's catalog, which takes seconds to make."""
    return tempfile.TemporaryDirectory(prefix="colonnade-")


@contextmanager
def client(made: Engine) -> Iterator[Client]:
    session = made.session()
    try:
        yield Client(session)
    finally:
        session.close()
