"""The inputs of a function: fetched from the server with EXPLAIN (INPUTS …), and saved as Arrow IPC."""

from __future__ import annotations

import itertools
import json
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colonnade_serve._core import column_type

from .at_rest import read_table, write_batches, write_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from colonnade._connection import Connection

    from .declaration import Declaration

#: The key of the description in the schema's metadata.
METADATA = b"colonnade.function"
#: The type of `*`.
ANY = "ANY"
#: The functions of a name, with the schemas that clients see, and DuckDB's names of types that are given.
NAMED = """
SELECT f.* EXCLUDE (created_at) REPLACE (n.nspname AS schema), system.main.list_value({given})::VARCHAR[] AS given
FROM pg_catalog.colonnade_functions f
JOIN system.main.duckdb_schemas() s ON s.schema_name = f.schema AND s.database_name = system.main.current_database()
JOIN pg_catalog.pg_namespace n ON n.oid = s.oid WHERE f.name = $1"""


@dataclass(frozen=True)
class Description:
    """What a call needs to know of a function. Types are DuckDB's names."""

    #: Schema and name.
    name: str
    #: scalar, aggregate or table.
    kind: str
    language: str
    #: Name, type, and whether it is SCALAR. Of a function with the parameters `(*)`, those of the call.
    parameters: list[tuple[str, str, bool]]
    #: The type of the result, or of the first column of a table.
    result: str
    strict: bool
    #: The query of the inputs.
    query: str = ""
    #: The columns of a table: name and type. ANY: the rows decide.
    columns: list[tuple[str, str]] = field(default_factory=list)
    #: Of a table function: the number of the query that each parameter comes from, 0 for a value.
    sources: list[int] = field(default_factory=list)
    #: Whether arguments are arrays of pyarrow.
    arrow: bool = False

    @property
    def has_groups(self) -> bool:
        return self.kind == "aggregate"

    @property
    def is_table(self) -> bool:
        return self.kind == "table"

    @property
    def has_any_columns(self) -> bool:
        """Whether the rows decide which columns a table has."""
        return any(type_ == ANY for _, type_ in self.columns)

    @property
    def is_variadic(self) -> bool:
        """Whether the function takes any arguments, and its call is not known yet."""
        return any(type_ == ANY for _, type_, _ in self.parameters)

    @property
    def metadata(self) -> dict[bytes, bytes]:
        """The metadata of the schema of a file of inputs."""
        return {METADATA: json.dumps(asdict(self)).encode()}

    def for_process(self, source: str) -> dict[str, Any]:
        """What `_udf/calls.py` takes."""
        kind = "aggregate per group" if self.has_groups and self.language == "python_map" else self.kind
        if self.has_any_columns:
            kind = "any table"
        # Arguments of a table function that are values arrive as values.
        sources = self.sources or [1] * len(self.parameters)
        parameters = [
            [name, type_, json.loads(column_type(type_)), is_scalar or source == 0]
            for (name, type_, is_scalar), source in zip(self.parameters, sources, strict=True)
        ]
        results = self.columns if self.is_table else [("", self.result)]
        return {
            "id": 0,
            "kind": kind,
            # Rows that STRICT leaves out are no inputs of a table function.
            "strict": self.strict and not self.is_table,
            "arrow": self.arrow,
            "name": self.name,
            "source": source,
            "parameters": parameters,
            "results": [
                [name, type_, json.loads(column_type(type_)), False] for name, type_ in results if type_ != ANY
            ],
        }


@dataclass(frozen=True)
class Inputs:
    """The rows of calls: the parameters, for aggregates the number of the group, for table functions that of the query,
    and the number of the call."""

    description: Description
    table: pa.Table

    @property
    def rows(self) -> int:
        """How many rows the function gets."""
        return max(0, self.table.num_rows - self.description.is_table)

    def save(self, path: Path, key: bytes | None = None, below: Path | None = None) -> None:
        """Write a file, which is encrypted with a key."""
        write_table(path, self.table.replace_schema_metadata(self.description.metadata), key, below)


def load(path: Path, key: bytes | None = None) -> Inputs:
    """Read a file of inputs. Raises `ValueError` if it is none, or the key is wrong."""
    table = read_table(path, key, "inputs")
    try:
        found = json.loads((table.schema.metadata or {})[METADATA])
        found["parameters"] = [(str(name), str(type_), bool(scalar)) for name, type_, scalar in found["parameters"]]
        found["columns"] = [(str(name), str(type_)) for name, type_ in found.get("columns", [])]
        description = Description(**found)
        width = len(description.parameters) + 1 + (description.has_groups or description.is_table)
        if table.num_columns != width or (description.is_table and len(description.sources) != width - 2):
            raise ValueError
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"{path} has no description of a function; fetch the inputs again") from None
    return Inputs(description, table)


def describe(connection: Connection, declaration: Declaration) -> Description:
    """What the server knows of a function. Raises `ValueError` if it has none with this signature."""
    # The server reads the types, because a type has several names.
    types = [] if declaration.is_variadic else declaration.types
    given = ", ".join(f"system.main.typeof(CAST(NULL AS {type_}))" for type_ in types)
    rows = connection.query(NAMED.format(given=given), [declaration.name]).to_arrow().to_pylist()
    found = [
        row
        for row in rows
        if [one["type"] for one in row["parameters"]] == ([ANY] if declaration.is_variadic else row["given"])
        and declaration.schema in (None, row["schema"])
    ]
    if len(found) != 1:
        raise ValueError(f"the database has no function {declaration.signature}; push it first")
    (row,) = found
    parameters = [(one["name"], one["type"], bool(one["scalar"])) for one in row["parameters"]]
    columns = [(name, type_) for name, type_ in row["results"]]
    name = f"{row['schema']}.{row['name']}"
    described = Description(
        name,
        row["kind"],
        row["language"],
        parameters,
        columns[0][1],
        bool(row["strict"]),
        # Servers of earlier versions have no column `style`.
        arrow=row.get("style") == "arrow",
    )
    return replace(described, columns=columns) if described.is_table else described


@dataclass(frozen=True)
class Wanted:
    """Which inputs."""

    call: int = 1
    sample: int | None = None
    by_groups: bool = False
    seed: int | None = None

    def options(self) -> str:
        text = f", CALL {self.call}"
        if self.sample is not None:
            text += f", SAMPLE {self.sample}{' GROUPS' if self.by_groups else ''}"
            text += "" if self.seed is None else f", SEED {self.seed}"
        return text


@dataclass
class Arriving:
    """The inputs that a query gives a function, while they arrive. They are read once."""

    description: Description
    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    #: The rows that have arrived, with the one of values of a table function.
    _arrived: int = 0

    @property
    def rows(self) -> int:
        """How many rows the function gets of those that have arrived."""
        return max(0, self._arrived - self.description.is_table)

    def save(self, path: Path, key: bytes | None = None, below: Path | None = None) -> None:
        """Write them to a file as they arrive. It is encrypted with a key."""
        write_batches(path, self.schema.with_metadata(self.description.metadata), self._counted(), key, below)

    def _counted(self) -> Iterator[pa.RecordBatch]:
        for batch in self.batches:
            self._arrived += batch.num_rows
            yield batch


@contextmanager
def arriving(
    connection: Connection, declaration: Declaration, query: str, wanted: Wanted, compression: str | None = None
) -> Iterator[Arriving]:
    """Ask for the inputs that a query gives a function. `compression` is as for `Connection.query`."""
    query = query.strip().rstrip(";")
    description = replace(describe(connection, declaration), query=query)
    statement = f"EXPLAIN (INPUTS {signature(declaration)}{wanted.options()}) {query}"
    with connection.query(statement, compression=compression) as result:
        found = Arriving(description, result.schema, iter(result))
        yield of_table(found) if description.is_table else found


def of_table(found: Arriving) -> Arriving:
    """The inputs of a table function. Their first row says where its parameters come from; without one, the function is
    not called."""
    names, declared = found.schema.names[:-3], found.description.parameters
    first = next((batch for batch in found.batches if batch.num_rows), None)
    about = [{"query": 1}] * len(names) if first is None else first.column(first.num_columns - 1)[0].as_py()
    if found.description.is_variadic:
        # Without a call, the types do not matter.
        declared = [(name, one.get("type", "INTEGER"), declared[0][2]) for name, one in zip(names, about, strict=True)]
    sources = [int(one["query"]) for one in about]
    kept = range(len(found.schema) - 1)
    batches = itertools.chain([] if first is None else [first], found.batches)
    return Arriving(
        replace(found.description, parameters=declared, sources=sources),
        found.schema.remove(len(kept)),
        (batch.select(kept) for batch in batches),
    )


def signature(declaration: Declaration) -> str:
    """The name and the types in SQL. A function that takes any arguments is known by its name."""
    path = [part for part in (declaration.schema, declaration.name) if part is not None]
    types = "" if declaration.is_variadic else f"({', '.join(declaration.types)})"
    return ".".join(map(quoted, path)) + types


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
