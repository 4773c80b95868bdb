"""EXPLAIN (INPUTS …) of functions that get whole columns: table functions, and functions in LANGUAGE PYTHON that give a
column.

Their queries run before the statement. So the inputs of a call are the rows of a query of their own, and the statement
does not run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from colonnade._sources.duckdb_types.exact import literal, quoted

from .unions import to_structs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .function_entry import Definition, Parameter
    from .table_arguments import Argument, BoundArgument

#: The rows of a call of a function in LANGUAGE PYTHON_MAP (`BATCH_ROWS` of `serve/bridge/src/duckdb_api/table.rs`).
BATCH_ROWS = 122_880
#: What the first row of the inputs of a table function has for each parameter: the number of its query, 0 for a value,
#: and its type.
SOURCES = 'STRUCT("query" BIGINT, "type" VARCHAR)[]'
#: What takes the place of a call in a statement that does not run.
NOTHING = "(SELECT NULL AS unknown)"


def own_columns(definition: Definition) -> list[tuple[str, str]]:
    """The columns of the inputs next to the parameters, with their types."""
    if definition.kind != "table":
        return [("batch", "BIGINT")]
    # Each row has them, so they are small.
    return [("query", "SMALLINT"), ("batch", "INTEGER"), ("parameters", SOURCES)]


@dataclass
class TableCapture:
    """The capture of a call, while a statement's calls are replaced."""

    definition: Definition
    #: Which call of the function, from 1.
    call: int
    #: The number of rows of each query; None: all.
    sample: int | None
    seed: int
    #: How many calls of the function there were.
    calls: int = 0
    #: The query of the inputs; None before the call.
    sql: str | None = None
    _values: dict[str, object] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        """Whether the call has come. None of the calls behind it runs."""
        return self.sql is not None

    def is_here(self, definition: Definition) -> bool:
        """Whether this call is the one. It is counted."""
        if self.is_over or definition.id != self.definition.id:
            return False
        self.calls += 1
        return self.calls == self.call

    def keep_table(
        self,
        arguments: Sequence[Argument],
        queries: Sequence[BoundArgument],
        values: dict[str, object],
        is_called: bool,
    ) -> None:
        """Keep the query of the inputs of a table function: a row with the arguments that are values, and the rows of
        each query. `is_called`: whether the function is called at all."""
        names = free_names([argument.parameter.name for argument in arguments], own_columns(self.definition))
        parts = [self._selected(arguments, 0, names, "0") + ("" if is_called else " WHERE false")]
        for number, query in enumerate(queries, 1):
            sources = [argument.source for argument in arguments if argument.query == number]
            rows = self._rows(query, sources if self.definition.strict else [])
            batch = f"(number - 1) // {BATCH_ROWS}" if self.definition.language == "python_map" else "0"
            part = f"{self._selected(arguments, number, names, batch)} FROM {rows}"
            parts.append(part if is_called else f"{part} WHERE false")
        used = [name for query in queries for name in query.given.parameters]
        used += [name for argument in arguments for name in argument.values]
        self._keep(" UNION ALL ".join(parts), used, values)

    def keep_columns(
        self, parameters: Sequence[Parameter], sources: Sequence[str], query: BoundArgument, values: dict[str, object]
    ) -> None:
        """Keep the query of the inputs of a function that gives a column: a row for each row of its SELECT."""
        names = free_names([parameter.name for parameter in parameters], own_columns(self.definition))
        pairs = zip(sources, parameters, strict=True)
        items = [given(source, parameter) for source, parameter in pairs]
        items.append("0::BIGINT")
        # Parameters that the call leaves out are constants.
        rows = self._rows(query, sources if self.definition.strict else [])
        self._keep(f"SELECT {aliased(items, names)} FROM {rows}", query.given.parameters, values)

    @property
    def query(self) -> tuple[str, dict[str, object] | None]:
        """The query of the inputs, and the values of its parameters."""
        assert self.sql is not None
        return self.sql, self._values or None

    def _keep(self, sql: str, used: list[str], values: dict[str, object]) -> None:
        self.sql = sql
        self._values = {name: values[name] for name in used}

    def _selected(self, arguments: Sequence[Argument], number: int, names: list[str], batch: str) -> str:
        """The columns of a query: NULL for the parameters of others."""
        items = []
        for argument in arguments:
            source = argument.source if argument.query == number else "NULL"
            items.append(given(source, argument.parameter))
        items += [f"{number}::SMALLINT", f"CAST({batch} AS INTEGER)"]
        pairs = (f"{{'query': {argument.query}, 'type': {literal(argument.parameter.type)}}}" for argument in arguments)
        sources = f"[{', '.join(pairs)}]" if number == 0 else "NULL"
        items.append(f"CAST({sources} AS {SOURCES})")
        return f"SELECT {aliased(items, names)}"

    def _rows(self, query: BoundArgument, wanted: Sequence[str]) -> str:
        """The rows of a query that the function gets, or a sample of them. In `wanted` NULL leaves a row out."""
        columns = ", ".join(quoted(f"c{at}") for at in range(len(query.columns)))
        rows = f"({query.given.sql}) AS q({columns})"
        if wanted:
            rows = f"(SELECT * FROM {rows} WHERE {' AND '.join(f'({source}) IS NOT NULL' for source in wanted)})"
        is_numbered = self.definition.kind == "table" and self.definition.language == "python_map"
        if is_numbered or self.sample is not None:
            rows = f"(SELECT system.main.row_number() OVER () AS number, * FROM {rows})"
        if self.sample is not None:
            # The rows with the smallest hash values of their number and the seed: each set of rows has the same chance.
            order = f"system.main.hash(system.main.hash(number, {self.seed}::UBIGINT)), number"
            chosen = f"(SELECT * FROM {rows} ORDER BY {order} LIMIT {self.sample})"
            rows = f"(SELECT * FROM {chosen} ORDER BY number)"
        return rows


def given(source: str, parameter: Parameter) -> str:
    """The value that a parameter gets, as clients can read it."""
    return to_structs(f"CAST({source} AS {parameter.type})", parameter.type)


def aliased(items: Sequence[str], names: Sequence[str]) -> str:
    return ", ".join(f"{item} AS {quoted(name)}" for item, name in zip(items, names, strict=True))


def free_names(parameters: Sequence[str], own: Sequence[tuple[str, str]]) -> list[str]:
    """The names of parameters, and those of other columns, with a number if another column has the name."""
    names = list(parameters)
    for name, _ in own:
        taken = {known.lower() for known in names}
        found, number = name, 1
        while found in taken:
            number += 1
            found = f"{name}_{number}"
        names.append(found)
    return names
