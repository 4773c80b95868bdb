"""Where models are: a connection, and the table in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from colonnade._connection import Connection, connect
from colonnade._errors import InterfaceError
from colonnade._libraries import require

from ._statements import quoted

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class ModelStore:
    """An open connection to a database with models."""

    connection: Connection
    schema: str

    @property
    def table(self) -> str:
        """The table of models, in SQL."""
        return f"{quoted(self.schema)}.{quoted('models')}"

    def execute(self, sql: str) -> dict[str, np.ndarray[Any, Any]]:
        """The columns of a query by their names, as functions in the server get them."""
        numpy = require("numpy", "colonnade.ml")
        found = {}
        table = self.connection.query(sql).to_arrow()
        for name in table.column_names:
            items = table.column(name).to_pylist()
            found[name] = numpy.empty(len(items), object)
            found[name][:] = items
        return found


@contextmanager
def model_store(connection: str | Connection, schema: str) -> Iterator[ModelStore]:
    """The models of a URI, whose connection is closed at the end, or of an open connection."""
    require("pyarrow", "colonnade.ml")
    if isinstance(connection, Connection):
        yield ModelStore(connection, schema)
    elif isinstance(connection, str):
        with connect(connection) as opened:
            yield ModelStore(opened, schema)
    else:
        raise InterfaceError(f"the connection is a {type(connection).__name__}: give a URI or a colonnade.Connection")
