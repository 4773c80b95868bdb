"""The tables of data.py in a MariaDB and in an SQLite file, loaded into memory."""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import duckdb

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.testbed import mariadb

#: The name and password of MariaDB's user, and the database.
LOGIN = "bench"
#: These databases' names of DuckDB's types, if they differ.
TYPES = {
    "MariaDB": {"VARCHAR": "text", "TIMESTAMP": "datetime(6)", "TIMESTAMP_NS": "datetime(6)", "FLOAT": "float"},
    "SQLite": {"VARCHAR": "text", "TIMESTAMP": "timestamp", "TIMESTAMP_NS": "timestamp"},
}
#: Casts of DuckDB's values to the forms that SQLite stores: times as text, decimals as numbers.
IN_SQLITE = {"DATE": "VARCHAR", "TIMESTAMP": "VARCHAR", "TIMESTAMP_NS": "VARCHAR", "DECIMAL": "DOUBLE"}


def columns(kind: str, relation: duckdb.DuckDBPyRelation, key: str | None) -> list[str]:
    """Names and types of a table's columns in a database's form. A key is one more column."""
    quote = "`" if kind == "MariaDB" else '"'
    types = [TYPES[kind].get(str(type_), str(type_).lower()) for type_ in relation.types]
    named = [f"{quote}{name}{quote} {type_}" for name, type_ in zip(relation.columns, types, strict=True)]
    return [*named, *([f"{key} INTEGER PRIMARY KEY"] if key else [])]


def converted(relation: duckdb.DuckDBPyRelation, casts: Mapping[str, str], key: str | None) -> duckdb.DuckDBPyRelation:
    """The relation with columns cast by type. Types are named without parameters. A key numbers the rows."""
    shown = []
    for name, type_ in zip(relation.columns, map(str, relation.types), strict=True):
        target = casts.get(type_.partition("(")[0])
        shown.append(f'"{name}"::{target}' if target else f'"{name}"')
    return relation.project(", ".join([*shown, *([f"row_number() OVER () AS {key}"] if key else [])]))


def sqlite_file(path: Path, tables: Mapping[str, str], key: str | None = None) -> None:
    """A file with these tables. Each table is given by the relation from which DuckDB reads it."""
    with duckdb.connect() as duck, sqlite3.connect(path) as connection:
        for table, source in tables.items():
            relation = duck.sql(f"FROM {source}")
            connection.execute(f"CREATE TABLE {table} ({', '.join(columns('SQLite', relation, key))})")
            result = converted(relation, IN_SQLITE, key)
            marks = ", ".join("?" * len(result.columns))
            for batch in result.to_arrow_reader(10_000):
                rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
                connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
    # Read once, so that the file is in the page cache.
    path.read_bytes()


@contextmanager
def maria(tables: Mapping[str, str], key: str | None = None, memory: str = "2G") -> Iterator[mariadb.Server]:
    """A MariaDB with these tables in memory. Each table is given by the relation from which DuckDB reads it."""
    options = [f"--innodb-buffer-pool-size={memory}", "--local-infile=1", "--innodb-flush-log-at-trx-commit=0"]
    with (
        mariadb.server(options) as server,
        tempfile.TemporaryDirectory(dir="/tmp") as directory,
        duckdb.connect() as duck,
    ):
        Path(directory).chmod(0o755)
        server.run(
            f"CREATE DATABASE {LOGIN} CHARACTER SET utf8mb4; CREATE USER {LOGIN}@'%' IDENTIFIED BY '{LOGIN}'; "
            f"GRANT ALL ON *.* TO {LOGIN}@'%'"
        )
        for table, source in tables.items():
            file = f"{directory}/{table}.csv"
            relation = duck.sql(f"FROM {source}")
            # Without quotes NULL is NULL; in quotes it is a text.
            converted(relation, {"BOOLEAN": "TINYINT"}, key).write_csv(file, header=False, na_rep="NULL")
            Path(file).chmod(0o644)
            name = f"{LOGIN}.{table}"
            server.run(f"CREATE TABLE {name} ({', '.join(columns('MariaDB', relation, key))})")
            form = "FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"' ESCAPED BY '' LINES TERMINATED BY '\\n'"
            load = f"LOAD DATA LOCAL INFILE '{file}' INTO TABLE {name} CHARACTER SET utf8mb4 {form}"
            server.run(load, "--local-infile=1")
            Path(file).unlink()
            server.run(f"ANALYZE TABLE {name}; SELECT count(*) FROM {name}")
        yield server
