"""The inputs of a function: fetched from the server with EXPLAIN (INPUTS …), and saved as Arrow IPC."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colonnade._core import column_type

from . import catalog
from .sealed import read_sealed, write_sealed

if TYPE_CHECKING:
    import pyarrow as pa

    from colonnade._connection import Connection

    from .declaration import Declaration

#: The key of the description in the schema's metadata.
METADATA = b"colonnade.function"


@dataclass(frozen=True)
class Description:
    """What a call needs to know of a function. Types are DuckDB's names."""

    #: Schema and name.
    name: str
    #: scalar or aggregate.
    kind: str
    language: str
    #: Name, type, and whether it is SCALAR.
    parameters: list[tuple[str, str, bool]]
    result: str
    strict: bool
    #: The query of the inputs.
    query: str = ""
    #: Whether arguments are arrays of pyarrow.
    arrow: bool = False

    @property
    def has_groups(self) -> bool:
        return self.kind == "aggregate"

    def for_worker(self, source: str) -> dict[str, Any]:
        """What `_udf/calls.py` takes."""
        kind = "aggregate per group" if self.has_groups and self.language == "python_map" else self.kind
        parameters = [
            [name, type_, json.loads(column_type(type_)), is_scalar] for name, type_, is_scalar in self.parameters
        ]
        return {
            "id": 0,
            "kind": kind,
            "strict": self.strict,
            "arrow": self.arrow,
            "name": self.name,
            "source": source,
            "parameters": parameters,
            "results": [["", self.result, json.loads(column_type(self.result)), False]],
        }


@dataclass(frozen=True)
class Inputs:
    """The rows of calls: the parameters, for aggregates the number of the group, and the number of the call."""

    description: Description
    table: pa.Table

    def save(self, path: Path, key: bytes | None = None) -> None:
        """Write a file, which is encrypted with a key."""
        import pyarrow as pa

        metadata = {METADATA: json.dumps(asdict(self.description)).encode()}
        table = self.table.replace_schema_metadata(metadata)
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(path.name + ".new")
        try:
            with new.open("wb") as file:
                new.chmod(0o600)
                if key is None:
                    with pa.ipc.new_file(file, table.schema) as writer:
                        writer.write_table(table)
                else:
                    write_sealed(file, table, key)
            new.replace(path)
        finally:
            new.unlink(missing_ok=True)


def load(path: Path, key: bytes | None = None) -> Inputs:
    """Read a file of inputs. Raises `ValueError` if it is none, or the key is wrong."""
    import pyarrow as pa

    try:
        if key is None:
            with pa.memory_map(str(path)) as file:
                table = pa.ipc.open_file(file).read_all()
        else:
            table = read_sealed(path, key)
    except pa.ArrowInvalid:
        hint = "; if it is encrypted, pass --key-file" if key is None else ""
        raise ValueError(f"{path} is no file of inputs{hint}") from None
    try:
        found = json.loads((table.schema.metadata or {})[METADATA])
        found["parameters"] = [(str(name), str(type_), bool(scalar)) for name, type_, scalar in found["parameters"]]
        description = Description(**found)
        width = len(description.parameters) + 1 + description.has_groups
        if table.num_columns != width:
            raise ValueError
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"{path} has no description of a function; fetch the inputs again") from None
    return Inputs(description, table)


def describe(connection: Connection, declaration: Declaration) -> Description:
    """What the server knows of a function. Raises `ValueError` if it has none with this signature."""
    found = [
        function
        for function in catalog.functions(connection)
        if (function.name, function.file.declaration.types) == (declaration.name, declaration.types)
        and declaration.schema in (None, function.schema)
    ]
    if len(found) != 1:
        raise ValueError(f"the database has no function {declaration.signature}; push it first")
    # Servers of earlier versions have no column `style`.
    query = "SELECT * EXCLUDE (created_at) FROM colonnade_functions"
    rows = connection.query(query).to_arrow().to_pylist()
    (row,) = [row for row in rows if catalog.oid_of(row["id"]) == found[0].oid]
    parameters = [(one["name"], one["type"], bool(one["scalar"])) for one in row["parameters"]]
    ((_, result),) = row["results"]
    name = f"{found[0].schema}.{found[0].name}"
    is_arrow = row.get("style") == "arrow"
    return Description(name, row["kind"], row["language"], parameters, result, bool(row["strict"]), arrow=is_arrow)


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


def fetch(connection: Connection, declaration: Declaration, query: str, wanted: Wanted) -> Inputs:
    """The inputs that a query gives a function."""
    description = describe(connection, declaration)
    query = query.strip().rstrip(";")
    statement = f"EXPLAIN (INPUTS {signature(declaration)}{wanted.options()}) {query}"
    table = connection.query(statement).to_arrow()
    return Inputs(Description(**{**asdict(description), "query": query}), table)


def signature(declaration: Declaration) -> str:
    """The name and the types in SQL."""
    path = [part for part in (declaration.schema, declaration.name) if part is not None]
    return f"{'.'.join(map(quoted, path))}({', '.join(declaration.types)})"


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
