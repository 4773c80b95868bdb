"""The installed functions in this process: bodies as a function process compiles them, over a database of DuckDB's."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa
from colonnade.ml import ModelError
from colonnade_serve._udf.compiled import compile_body
from colonnade_serve.ml._frames import columns_of
from colonnade_serve.ml._functions import ALLOWED, COLUMNS, functions
from colonnade_serve.ml._statements import body, statements


class Local:
    """A database with the table of models."""

    def __init__(self, allow: list[str] | None = None) -> None:
        self.database = duckdb.connect()
        self.database.execute(statements()[0])
        self.allowed = [*ALLOWED, *(allow or [])]
        self.functions = {one.name: one for one in functions()}

    def execute(self, sql: str) -> dict[str, Any]:
        """What a function gets of a query: arrays by the names of columns."""
        return self.database.execute(sql).fetchnumpy()

    def call(self, function: str, columns: dict[str, Any], /, *constants: Any, **named: Any) -> Any:
        """What the body of a function returns, with NumPy's arrays in place of pyarrow's."""
        found = self.functions[function]
        text = body(found.part, found.last, "main.models", self.allowed)
        given = {**columns_of(columns), **{f"arg{at}": value for at, value in enumerate(constants, 1)}, **named}
        compiled = compile_body(text, f"<function {function}>", list(given))
        compiled.__globals__.update(_columns=given, _types={}, _conn=self)
        try:
            result = compiled(*given.values())
        except Exception as error:
            # The body has a class of its own.
            if type(error).__name__ == ModelError.__name__:
                raise ModelError(str(error)) from error
            raise
        is_column = {name: isinstance(column, pa.Array) for name, column in result.items()}
        return {
            name: column.to_numpy(zero_copy_only=False) if is_column[name] else column
            for name, column in result.items()
        }

    def train(self, function: str, columns: dict[str, Any], /, *constants: Any, **named: Any) -> dict[str, Any]:
        """Train, and insert the row."""
        found = self.call(function, columns, *constants, **named)
        row = {key: value[0] for key, value in found.items()}
        row["created_at"] = row["created_at"].astype(object)
        names, marks = ", ".join(f'"{name}"' for name in COLUMNS), ", ".join("?" for _ in COLUMNS)
        self.database.execute(f"INSERT INTO models ({names}) VALUES ({marks})", [row[name] for name in COLUMNS])
        return row
