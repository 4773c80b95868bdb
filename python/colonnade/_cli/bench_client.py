"""One reading of `colonnade bench`, in its own process. Input and output are JSON. A reader yields once after its
imports, and then the result."""

from __future__ import annotations

import json
import sys
import time
import traceback
from importlib import import_module
from typing import Any
from urllib.parse import quote

from colonnade._core import file_uri
from colonnade._libraries import require
from colonnade._system.process import peak_bytes


def _read(asked: dict[str, Any]) -> dict[str, Any]:
    """Measures one reading, including the connection but not the imports."""
    reader = _READERS[asked["client"]](asked)
    next(reader)
    cpu, start = time.process_time(), time.perf_counter()
    found = next(reader)
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    peak = peak_bytes()
    rows, columns = found.shape
    return {"wall": wall, "cpu": cpu, "peak": peak, "rows": rows, "columns": columns}


def _colonnade(asked: dict[str, Any]) -> Any:
    from colonnade import read_sql

    _require(asked["return_type"])
    yield
    yield read_sql(asked["uri"], asked["query"], return_type=asked["return_type"], **_parts(asked))


def _connectorx(asked: dict[str, Any]) -> Any:
    connectorx = import_module("connectorx")
    _require(asked["return_type"])
    uri = asked["uri"]
    if uri.startswith("sqlite:"):
        # ConnectorX reads the text after two slashes as the path.
        uri = f"sqlite://{quote(_sqlite_path(uri))}"
    yield
    yield connectorx.read_sql(uri, asked["query"], return_type=asked["return_type"], **_parts(asked))


def _adbc(asked: dict[str, Any]) -> Any:
    scheme = asked["uri"].partition(":")[0]
    kind = {"postgres": "postgresql"}.get(scheme, scheme)
    dbapi = import_module(f"adbc_driver_{kind}.dbapi")
    _require(asked["return_type"])
    yield
    # SQLite's driver needs a path.
    address = _sqlite_path(asked["uri"]) if kind == "sqlite" else asked["uri"]
    with dbapi.connect(address) as connection, connection.cursor() as cursor:
        cursor.execute(asked["query"])
        yield _made(cursor.fetch_arrow_table(), asked["return_type"])


def _pandas(asked: dict[str, Any]) -> Any:
    """`pandas.read_sql` over SQLAlchemy, which always returns a frame."""
    import pandas as pd
    import sqlalchemy

    scheme, _, rest = asked["uri"].partition("://")
    driver = {"postgres": "postgresql", "mysql": "mysql+pymysql", "mariadb": "mysql+pymysql"}.get(scheme, scheme)
    if asked["uri"].startswith("sqlite:"):
        # SQLAlchemy does not decode escapes in a path.
        engine = sqlalchemy.create_engine(f"sqlite:///{_sqlite_path(asked['uri'])}")
    else:
        engine = sqlalchemy.create_engine(f"{driver}://{rest}")
    yield
    with engine.connect() as connection:
        yield pd.read_sql(sqlalchemy.text(asked["query"]), connection)


def _sqlite_path(uri: str) -> str:
    """The file of an SQLite URI."""
    _, path, _ = file_uri(uri)
    return path


def _parts(asked: dict[str, Any]) -> dict[str, Any]:
    return {name: asked[name] for name in ("partition_on", "partition_num") if asked[name] is not None}


def _require(return_type: str) -> None:
    """Imports the library of the result before the measurement."""
    require({"arrow": "pyarrow"}.get(return_type, return_type), "colonnade bench")


def _made(table: Any, return_type: str) -> Any:
    """A pyarrow.Table in the requested form."""
    if return_type == "polars":
        return require("polars", "colonnade bench").from_arrow(table)
    return table.to_pandas() if return_type == "pandas" else table


_READERS = {"colonnade": _colonnade, "connectorx": _connectorx, "adbc": _adbc, "pandas": _pandas}

if __name__ == "__main__":
    try:
        answer = _read(json.load(sys.stdin))
    except BaseException as error:
        # A panic of a library is not an Exception. The cause may be in any line of the message.
        answer = {"error": " ".join("".join(traceback.format_exception_only(error)).split())}
    print(json.dumps(answer))
