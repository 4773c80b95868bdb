"""EXPLAIN (INPUTS …): what a function in Python would get from a query.

The query runs, and its rows are dropped. The dispatcher keeps the arguments of one call and gives NULL
(`serve/bridge/src/duckdb_api/capture.rs`). They are an Arrow table, whose columns are cast to the parameters' types.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

import duckdb
from colonnade._sources.duckdb_types.exact import quoted

from colonnade_serve._core import Refused

from .answers import Capsule
from .conversions import result
from .table_inputs import TableCapture, free_names, own_columns
from .unions import struct_type

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation

    from .functions import SessionFunctions
    from .library import Bound, Library

#: A schema, a name, and the types of the parameters as they are written.
NamedFunction = tuple[str | None, str, list[str] | None]

#: The rows of a batch while the query's rows are dropped.
DROPPED_ROWS = 122_880


class FunctionInputs:
    """The inputs of a function."""

    def __init__(self, functions: SessionFunctions, named: NamedFunction) -> None:
        self._processes = functions.processes
        self._definition = functions.definition(*named)
        if self._definition.is_variadic and self._definition.kind != "table":
            raise Refused(
                "EXPLAIN (INPUTS) does not show the inputs of functions with the parameters (*)", "0A000", None
            )

    @property
    def gets_columns(self) -> bool:
        """Whether the function gets whole columns, and runs before its statement."""
        return self._definition.kind == "table" or self._definition.takes_columns

    @property
    def columns(self) -> list[tuple[str, str]] | None:
        """The names and types of the columns: the parameters, the number of the group for aggregates, that of the query
        for table functions, and the number of the call of Python in which the row is. A UNION is a STRUCT. None if they
        depend on the call."""
        if self._definition.is_variadic:
            return None
        found = [(parameter.name, struct_type(parameter.type)) for parameter in self._definition.parameters]
        own = [("batch", "BIGINT")]
        if self.gets_columns:
            own = own_columns(self._definition)
        elif self._definition.kind == "aggregate":
            own = [("aggr_group", "BIGINT"), *own]
        names = free_names([name for name, _ in found], own)
        return list(zip(names, [type_ for _, type_ in [*found, *own]], strict=True))

    def capture(self, call: int, sample: tuple[int, bool] | None, seed: int | None) -> TableCapture | None:
        """What captures the call while the statement's calls of functions with whole columns run. None for other
        functions."""
        self._check_sample(sample)
        if not self.gets_columns:
            return None
        count = None if sample is None else sample[0]
        return TableCapture(self._definition, call, count, secrets.randbits(64) if seed is None else seed)

    def _check_sample(self, sample: tuple[int, bool] | None) -> None:
        if sample is not None and sample[1] and self._definition.kind != "aggregate":
            raise Refused("SAMPLE … GROUPS is for aggregates: only they have groups", "42601", None)

    def _check_calls(self, calls: int, call: int) -> None:
        if calls < call:
            times = {0: "does not call", 1: "has one call of"}.get(calls, f"has {calls} calls of")
            raise Refused(f"the query {times} function {self._definition.signature}", "22023", None)

    def of_capture(self, capture: TableCapture) -> tuple[str, dict[str, object] | None]:
        """The query of the inputs that a capture has kept, and the values of its parameters."""
        self._check_calls(capture.calls, capture.call)
        return capture.query

    @staticmethod
    def check(statement: Bound | None) -> None:
        """Refuse what is no query that only reads."""
        if statement is None or not statement.is_query or statement.changes:
            raise Refused("EXPLAIN (INPUTS) takes a query that changes nothing; nothing has run", "0A000", None)

    def captured(
        self,
        library: Library,
        sql: str,
        parameters: dict[str, object] | None,
        call: int,
        sample: tuple[int, bool] | None,
        seed: int | None,
    ) -> DuckDBPyRelation:
        """Run the query. Returns the inputs."""
        identity = self._definition.id
        self._check_sample(sample)
        count, by_groups = sample or (None, False)
        seed = secrets.randbits(64) if seed is None else seed
        self._processes.begin_capture(identity, call, count, by_groups=by_groups, seed=seed)
        try:
            drop_rows(library.rows(sql, parameters, DROPPED_ROWS))
        finally:
            calls, table = self._processes.end_capture()
        self._check_calls(calls, call)
        assert self.columns is not None
        if table is None:
            nulls = ", ".join(f"CAST(NULL AS {type_}) AS {quoted(name)}" for name, type_ in self.columns)
            return library.connection.sql(f"SELECT {nulls} LIMIT 0")
        import pyarrow as pa

        relation = library.connection.from_arrow(pa.RecordBatchReader.from_stream(table).read_all())
        columns = enumerate(self.columns, 1)
        items = []
        for position, (name, type_) in columns:
            # The dispatcher gets values of some types as others.
            items.append(f"CAST({result(f'#{position}', type_)} AS {type_}) AS {quoted(name)}")
        return relation.project(", ".join(items))


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
