"""SQLAlchemy and pandas against `colonnade serve`, as they would use PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
import psycopg
import pytest
import sqlalchemy as sa
from serving import serve


@pytest.fixture(scope="module")
def engine() -> Iterator[sa.Engine]:
    with serve() as server:
        engine = sa.create_engine(f"postgresql+psycopg://tester@{server.host}:{server.port}/test")
        yield engine
        engine.dispose()


def test_statements_with_parameters_in_transactions(engine: sa.Engine) -> None:
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE kept (i integer, s varchar)"))
        found = connection.execute(sa.text("INSERT INTO kept VALUES (:i, :s) RETURNING i"), {"i": 1, "s": "a"})
        assert found.scalars().all() == [1]
    with pytest.raises(sa.exc.ProgrammingError) as caught, engine.begin() as connection:
        connection.execute(sa.text("INSERT INTO kept VALUES (2, 'b')"))
        connection.execute(sa.text("SELECT * FROM nope"))
    assert isinstance(caught.value.orig, psycopg.errors.UndefinedTable)
    with engine.connect() as connection:
        assert connection.execute(sa.text("SELECT * FROM kept")).all() == [(1, "a")]


def test_tables_and_schemas_are_listed(engine: sa.Engine) -> None:
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE listed (i integer)"))
    inspector = sa.inspect(engine)
    assert inspector.default_schema_name == "main"
    assert "listed" in inspector.get_table_names()
    assert inspector.has_table("listed")
    assert not inspector.has_table("nope")
    assert inspector.get_schema_names() == ["main"]


def test_pandas_writes_and_reads(engine: sa.Engine) -> None:
    frame = pd.DataFrame(
        {"i": [1, 2], "s": ["x", None], "t": pd.to_datetime(["2020-01-01 00:00:00", "2021-01-01 01:02:03"])}
    )
    assert frame.to_sql("framed", engine, index=False) is not None
    found = pd.read_sql(sa.text("SELECT * FROM framed WHERE i >= :least ORDER BY i"), engine, params={"least": 1})
    assert found["i"].tolist() == [1, 2]
    assert found["s"].isna().tolist() == [False, True]
    assert found["t"].tolist() == frame["t"].tolist()
