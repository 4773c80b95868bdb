"""Functions inside the plans of DuckDB in this process, without the server."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

import duckdb
from colonnade_serve import _core
from duckdb import DuckDBPyConnection

#: Parameters: names and types.
Parameters = dict[str, str]


class Caller:
    """A connection that may call functions, with its function processes."""

    def __init__(self, connection: DuckDBPyConnection, processes: _core.FunctionProcesses) -> None:
        self.connection = connection
        ((token,),) = connection.execute("SELECT colonnade_session()").fetchall()
        self.token: str = token
        self.session = _core.FunctionSession(processes, token)

    def define(
        self,
        name: str,
        parameters: Parameters,
        result: str,
        source: str,
        *,
        kind: Literal["scalar", "aggregate", "aggregate_per_group"] = "scalar",
        strict: bool = False,
        volatility: Literal["i", "s", "v"] = "i",
        scalar: Sequence[str] = (),
    ) -> str:
        """Define a function, and a macro of its name over a dispatcher. Returns the id."""
        definition = (name, *parameters.items(), result, source, kind, strict, volatility, *scalar)
        identity = hashlib.sha256(repr(definition).encode()).hexdigest()[:16]
        given = [(parameter, type_, parameter in scalar) for parameter, type_ in parameters.items()]
        _core.define_function(
            identity, f"main.{name}", kind, given, result, source, strict=strict, volatility=volatility
        )
        dispatcher = _core.function_dispatcher("scalar" if kind == "scalar" else "aggregate", volatility)
        typed = ", ".join(f"{parameter} {type_}" for parameter, type_ in parameters.items())
        arguments = ", ".join([f"'{identity}'", "colonnade_session()", *parameters])
        self.connection.execute(f"CREATE OR REPLACE MACRO {name}({typed}) AS {dispatcher}({arguments})")
        return identity

    def rows(self, query: str) -> list[tuple[object, ...]]:
        self.session.begin_statement()
        return self.connection.execute(query).fetchall()

    def value(self, query: str) -> object:
        ((value,),) = self.rows(query)
        return value

    def failure(self, query: str) -> _core.FunctionFailure:
        """The record of the error that a query ends with."""
        try:
            rows = self.rows(query)
        except duckdb.Error as error:
            failure = self.session.take_failure(str(error))
            assert failure is not None, error
            return failure
        raise AssertionError(f"no error, but {rows}")


@contextmanager
def pool(
    *,
    memory: int = 1 << 30,
    timeout: float | None = None,
    processes: int = 8,
    isolation: Literal["process", "none"] = "process",
) -> Iterator[_core.FunctionProcesses]:
    """Function processes with limits and without a sandbox: the tests of them are in `serve/udf/tests`. With "none",
    functions run in this process."""
    _core.register_functions()
    yield _core.FunctionProcesses(isolation=isolation, memory=memory, timeout=timeout, processes=processes)


@contextmanager
def caller(processes: _core.FunctionProcesses, *, threads: int = 1) -> Iterator[Caller]:
    """A new database in memory."""
    with duckdb.connect(config={"threads": threads}) as connection:
        made = Caller(connection, processes)
        try:
            yield made
        finally:
            made.session.close()
