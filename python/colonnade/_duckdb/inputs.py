"""EXPLAIN (INPUTS …): what a function in Python would get from a query.

The query runs, and its rows are dropped. The dispatcher keeps the arguments of one call and gives NULL
(`python/src/duckdb_api/capture.rs`). They are an Arrow table, whose columns are cast to the types of the parameters.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

import duckdb

from colonnade._core import Refused

from .answers import Capsule
from .exact import quoted

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

    from .fences import ReadOnlyConnection, Statement
    from .functions import SessionFunctions

#: A schema, a name, and the types of the parameters as they are written.
NamedFunction = tuple[str | None, str, list[str] | None]

#: The rows of a batch while the query's rows are dropped.
DROPPED_ROWS = 122_880


class FunctionInputs:
    """The inputs of a function."""

    def __init__(self, functions: SessionFunctions, named: NamedFunction) -> None:
        self._workers = functions.workers
        self._definition = functions.definition(*named)
        if self._definition.kind == "table":
            raise Refused("EXPLAIN (INPUTS) does not show the inputs of table functions", "0A000", None)
        if self._definition.is_variadic:
            raise Refused(
                "EXPLAIN (INPUTS) does not show the inputs of functions with the parameters (*)", "0A000", None
            )
        if any("MAP(" in parameter.type for parameter in self._definition.parameters):
            raise Refused("EXPLAIN (INPUTS) does not show arguments of a MAP type", "0A000", None)

    @property
    def columns(self) -> list[tuple[str, str]]:
        """The names and types of the columns: the parameters, the number of the group for aggregates, and the number
        of the call of Python in which the row is."""
        found = [(parameter.name, parameter.type) for parameter in self._definition.parameters]
        if self._definition.kind == "aggregate":
            found.append((free("aggr_group", found), "BIGINT"))
        found.append((free("batch", found), "BIGINT"))
        return found

    @staticmethod
    def check(statement: Statement | None) -> None:
        """Refuse what is no query that only reads."""
        if statement is None or not statement.is_query or statement.changes:
            raise Refused("EXPLAIN (INPUTS) takes a query that changes nothing; nothing has run", "0A000", None)

    def captured(
        self,
        connection: DuckDBPyConnection | ReadOnlyConnection,
        sql: str,
        parameters: dict[str, object] | None,
        call: int,
        sample: tuple[int, bool] | None,
        seed: int | None,
    ) -> DuckDBPyRelation:
        """Run the query. Returns the inputs."""
        identity = self._definition.id
        if sample is not None and sample[1] and self._definition.kind != "aggregate":
            raise Refused("SAMPLE … GROUPS is for aggregates: only they have groups", "42601", None)
        count, by_groups = sample or (None, False)
        seed = secrets.randbits(64) if seed is None else seed
        self._workers.begin_capture(identity, call, count, by_groups=by_groups, seed=seed)
        try:
            drop_rows(connection._submit(sql, parameters, "stream", DROPPED_ROWS))
        finally:
            calls, table = self._workers.end_capture()
        if calls < call:
            times = {0: "does not call", 1: "has one call of"}.get(calls, f"has {calls} calls of")
            raise Refused(f"the query {times} function {self._definition.signature}", "22023", None)
        if table is None:
            nulls = ", ".join(f"CAST(NULL AS {type_}) AS {quoted(name)}" for name, type_ in self.columns)
            return connection.sql(f"SELECT {nulls} LIMIT 0")
        import pyarrow as pa

        relation = connection.from_arrow(pa.RecordBatchReader.from_stream(table).read_all())
        columns = enumerate(self.columns, 1)
        return relation.project(
            ", ".join(f"CAST(#{position} AS {type_}) AS {quoted(name)}" for position, (name, type_) in columns)
        )


def free(name: str, taken: list[tuple[str, str]]) -> str:
    """The name, with a number if a column has it."""
    names = {known.lower() for known, _ in taken}
    found, number = name, 1
    while found in names:
        number += 1
        found = f"{name}_{number}"
    return found


def drop_rows(result: Any) -> None:
    """Read all rows of a result that streams, and drop them."""
    import pyarrow as pa

    stream = Capsule(result.arrow_capsule())
    try:
        for _ in pa.RecordBatchReader.from_stream(stream):
            pass
    except (pa.ArrowException, OSError) as error:
        # DuckDB's own error, as the text of an error of the stream.
        raise duckdb.Error(str(error).removeprefix("IOError: ")) from None
