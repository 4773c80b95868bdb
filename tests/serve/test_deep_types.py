"""Columns of many levels: what is too deep for a format or for a reader is named, with what to do."""

from __future__ import annotations

from collections.abc import Callable

import colonnade
import psycopg
import pyarrow as pa
import pytest

from tests.testbed.serving import Server, own_server

server = pytest.fixture(own_server, scope="module")

#: The most levels that pyarrow reads, with that of the table; a number is a level too.
DEEPEST = 62


def uri(server: Server) -> str:
    return f"postgresql://tester@{server.host}:{server.port}/test"


def nested(depth: int) -> str:
    return f"select {'[' * depth}1{']' * depth} as deep"


def table(depth: int) -> pa.Table:
    kind, value = pa.int32(), 1
    for _ in range(depth):
        kind, value = pa.list_(kind), [value]
    return pa.table({"deep": pa.array([value], kind)})


READERS: dict[str, Callable[[colonnade.Result], object]] = {
    "arrow": lambda result: result.to_arrow(),
    "pandas": lambda result: result.to_pandas().shape,
    "numpy": lambda result: result.to_numpy(),
    "batches": list,
    "capsule": pa.table,
}


@pytest.mark.parametrize("reader", READERS)
def test_a_column_that_is_too_deep_is_named(server: Server, reader: str) -> None:
    read = READERS[reader]
    with colonnade.connect(uri(server)) as connection:
        assert read(connection.query(nested(DEEPEST)))
        with pytest.raises(colonnade.NotSupportedError, match='column "deep" is nested more than 63 levels deep'):
            read(connection.query(nested(DEEPEST + 1)))
        # What the format itself does not have, the server refuses.
        for depth in (DEEPEST + 2, 100):
            with pytest.raises(colonnade.NotSupportedError, match='column "deep" is nested more than 64') as refused:
                read(connection.query(nested(depth)))
            assert refused.value.sqlstate == "0A000"
        assert connection.query("select 1 as one").to_arrow().num_rows == 1


def test_a_plan_and_a_spool_too(server: Server) -> None:
    with pytest.raises(colonnade.NotSupportedError, match='column "deep" is nested more than 6'):
        colonnade.plan(uri(server), nested(DEEPEST + 1), 2)
    with pytest.raises(colonnade.NotSupportedError, match='column "deep" is nested more than 64'):
        colonnade.plan(uri(server), nested(DEEPEST + 2), 2)


def test_rows_that_are_too_deep_are_not_written(server: Server) -> None:
    with colonnade.connect(uri(server)) as connection:
        assert connection.write(table(DEEPEST), "deep", if_exists="replace").rows == 1
        for depth in (DEEPEST + 1, DEEPEST + 2):
            with pytest.raises(colonnade.Error, match="nested") as refused:
                connection.write(table(depth) if depth < 64 else table(64), "deeper", if_exists="replace")
            assert refused.value.sqlstate in ("54001", "0A000", None)
        assert connection.query("select count(*) as n from deep").to_arrow().to_pydict() == {"n": [1]}


def test_other_formats_refuse_them(server: Server) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as session:
        with (
            pytest.raises(psycopg.Error, match="nested more than 64") as refused,
            session.cursor().copy(f"copy ({nested(64)}) to stdout (format colonnade)") as copy,
        ):
            list(copy)
        assert refused.value.sqlstate == "0A000"
        with pytest.raises(psycopg.Error) as refused:
            session.execute(nested(20).encode())
        assert refused.value.sqlstate == "0A000"
