"""The number of rows of a query, as the database's planner estimates it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from colonnade._core import Connection, Stream
from colonnade._errors import Error
from colonnade._libraries import require

if TYPE_CHECKING:
    from colonnade._core import Source
    from colonnade._options.query import Params


def estimated_rows(source: Source, sql: str, params: Params | None) -> int | None:
    """PostgreSQL's estimate for a query; None if there is none. The query does not run.

    In a transaction there is no estimate, because a statement that EXPLAIN refuses would end the transaction.
    """
    if not isinstance(source, Connection) or not source.server.startswith("PostgreSQL"):
        return None
    if source.transaction != "none":
        return None
    try:
        stream = source.run(f"EXPLAIN (FORMAT JSON) {sql}", params)
        if not isinstance(stream, Stream):
            return None
        pa = require("pyarrow", "an estimate")
        ((text,),) = pa.RecordBatchReader.from_stream(stream).read_all().columns
        (plan,) = json.loads(text.as_py())
        return int(plan["Plan"]["Plan Rows"])
    except (Error, ImportError, KeyError, TypeError, ValueError):
        # The query itself reports what is wrong with it.
        return None
