"""One reading of `colonnade bench`, in a process of its own: the question is JSON on the standard input, and so is the
answer on the standard output. A reader yields once when all is imported, and then what it has read."""

from __future__ import annotations

import json
import resource
import sys
import time
import traceback
from importlib import import_module
from typing import Any

from ._convert import require


def _read(asked: dict[str, Any]) -> dict[str, Any]:
    """The reading itself, in a process of its own. Imports are outside the clock, connecting is inside."""
    reader = _READERS[asked["client"]](asked)
    next(reader)
    cpu, start = time.process_time(), time.perf_counter()
    found = next(reader)
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    # Kilobytes, but bytes on macOS.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    rows, columns = found.shape
    return {"wall": wall, "cpu": cpu, "peak": peak, "rows": rows, "columns": columns}


def _colonnade(asked: dict[str, Any]) -> Any:
    from . import read_sql

    _require(asked["return_type"])
    yield
    yield read_sql(asked["uri"], asked["query"], return_type=asked["return_type"], **_parts(asked))


def _connectorx(asked: dict[str, Any]) -> Any:
    connectorx = import_module("connectorx")
    _require(asked["return_type"])
    yield
    yield connectorx.read_sql(asked["uri"], asked["query"], return_type=asked["return_type"], **_parts(asked))


def _adbc(asked: dict[str, Any]) -> Any:
    scheme, _, rest = asked["uri"].partition(":")
    kind = {"postgres": "postgresql"}.get(scheme, scheme)
    dbapi = import_module(f"adbc_driver_{kind}.dbapi")
    _require(asked["return_type"])
    yield
    # SQLite's driver wants a path; behind the scheme there may be an empty host.
    address = rest.removeprefix("//") if kind == "sqlite" else asked["uri"]
    with dbapi.connect(address) as connection, connection.cursor() as cursor:
        cursor.execute(asked["query"])
        yield _made(cursor.fetch_arrow_table(), asked["return_type"])


def _pandas(asked: dict[str, Any]) -> Any:
    """`pandas.read_sql` over SQLAlchemy, whatever is to be made: it makes a frame."""
    import pandas as pd
    import sqlalchemy

    scheme, _, rest = asked["uri"].partition("://")
    driver = {"postgres": "postgresql", "mysql": "mysql+pymysql", "mariadb": "mysql+pymysql"}.get(scheme, scheme)
    # An absolute path is one slash further on.
    engine = sqlalchemy.create_engine(f"{driver}://{'/' if scheme == 'sqlite' else ''}{rest}")
    yield
    with engine.connect() as connection:
        yield pd.read_sql(sqlalchemy.text(asked["query"]), connection)


def _parts(asked: dict[str, Any]) -> dict[str, Any]:
    return {name: asked[name] for name in ("partition_on", "partition_num") if asked[name] is not None}


def _require(return_type: str) -> None:
    """Imports what is to be made, outside the clock."""
    require({"arrow": "pyarrow"}.get(return_type, return_type), "colonnade bench")


def _made(table: Any, return_type: str) -> Any:
    """The frame of a pyarrow.Table."""
    if return_type == "polars":
        return require("polars", "colonnade bench").from_arrow(table)
    return table.to_pandas() if return_type == "pandas" else table


_READERS = {"colonnade": _colonnade, "connectorx": _connectorx, "adbc": _adbc, "pandas": _pandas}

if __name__ == "__main__":
    try:
        answer = _read(json.load(sys.stdin))
    except BaseException as error:
        # A library's panic is no Exception. The cause may be in any line of the message.
        answer = {"error": " ".join("".join(traceback.format_exception_only(error)).split())}
    print(json.dumps(answer))
