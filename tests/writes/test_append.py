"""`Connection.append`: parts that arrive all together, or not at all."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from typing import Any

import colonnade
import pandas as pd
import polars as pl
import psycopg
import pyarrow as pa
import pytest

from tests.writes.places import Place

BATCH = pa.record_batch({"a": pa.array(range(10_000), pa.int64()), "b": ["some text"] * 10_000})


def test_leaving_the_block_commits(place: Place) -> None:
    colonnade.write_sql(BATCH.slice(0, 0), place.uri, "t")
    if place.is_sqlite:
        # Otherwise readers wait while many rows are written.
        place.execute("pragma journal_mode=wal")
    with colonnade.connect(place.uri) as connection:
        with connection.append("t") as rows:
            for _ in range(20):
                rows.write(BATCH)
            assert place.rows() == []
        assert (rows.stats.rows, rows.stats.table) == (200_000, "t") and rows.stats.seconds > 0
        assert place.table().num_rows == 200_000
        # The connection can be used again.
        with connection.append("t") as rows:
            rows.write(BATCH)
    assert place.table().num_rows == 210_000


PARTS: dict[str, Any] = {
    "batch": pa.record_batch({"a": [1], "b": ["x"]}),
    "table": pa.table({"a": [1], "b": ["x"]}),
    "polars": pl.DataFrame({"a": [1], "b": pl.Series(["x"])}),
    "pandas": pd.DataFrame({"a": [1], "b": ["x"]}),
    "lists": {"a": [1], "b": ["x"]},
}


@pytest.mark.parametrize("kind", PARTS)
def test_parts_of_every_kind(place: Place, kind: str) -> None:
    with colonnade.connect(place.uri) as connection, connection.append("t", if_exists="create_append") as rows:
        rows.write(PARTS[kind])
        rows.write(PARTS[kind])
    assert place.rows() == [{"a": 1, "b": "x"}] * 2


def test_an_exception_in_the_block_rolls_back(place: Place) -> None:
    with colonnade.connect(place.uri) as connection:
        for error in (ZeroDivisionError(), KeyboardInterrupt(), SystemExit(3)):
            raised = pytest.raises(type(error))
            with raised as caught, connection.append("t", if_exists="create_append") as rows:
                for _ in range(5):
                    rows.write(BATCH)
                raise error
            assert caught.value is error and not place.exists()
            with pytest.raises(colonnade.InterfaceError, match="nothing"):
                _ = rows.stats
            with pytest.raises(colonnade.InterfaceError, match="given up"):
                rows.write(BATCH)
        connection.write(BATCH, "t")
    assert place.table().num_rows == 10_000


def test_without_rows_nothing_happens(place: Place) -> None:
    with colonnade.connect(place.uri) as connection:
        with connection.append("missing") as rows:
            pass
        assert rows.stats.rows == 0
        with pytest.raises(colonnade.InterfaceError, match="has ended"):
            rows.write(BATCH)
        with pytest.raises(colonnade.InterfaceError, match="once"):
            rows.__enter__()
    assert not place.exists("missing")


def test_a_missing_table_is_an_error_of_the_first_parts(place: Place) -> None:
    with colonnade.connect(place.uri) as connection:
        with pytest.raises(colonnade.ProgrammingError) as caught, connection.append("missing") as rows:
            for _ in range(10):
                rows.write(BATCH)
        assert caught.value.sqlstate == "42P01"
        with pytest.raises(colonnade.ProgrammingError) as caught, connection.append("missing") as rows:
            # The writer fails after the only part was given.
            rows.write(BATCH.slice(0, 1))
        assert caught.value.sqlstate == "42P01"


def test_a_failed_writer_is_an_error_even_if_the_block_ignores_it(place: Place) -> None:
    place.execute("create table t (a bigint primary key, b text)")
    with colonnade.connect(place.uri) as connection:
        with pytest.raises(colonnade.IntegrityError), connection.append("t") as rows:
            for _ in range(300):
                # Whether the database has found it before the end depends on the database.
                with suppress(colonnade.Error):
                    rows.write(BATCH)
        assert place.rows() == []


def test_a_part_with_other_columns_is_not_added_and_the_others_stay(place: Place) -> None:
    with colonnade.connect(place.uri) as connection:
        with connection.append("t", if_exists="create_append") as rows:
            rows.write({"a": [1]})
            for wrong in ({"b": [1]}, {"a": ["x"]}, 3, [BATCH]):
                with pytest.raises(colonnade.InterfaceError):
                    rows.write(wrong)  # type: ignore[arg-type]
            rows.write({"a": [2]})
        assert rows.stats.rows == 2
    assert place.rows() == [{"a": 1}, {"a": 2}]


def test_a_bad_value_names_its_row_among_all_parts(in_postgres: Place) -> None:
    refused = pytest.raises(colonnade.DataError, match='column "b", row 3')
    with colonnade.connect(in_postgres.uri) as connection:
        append = connection.append("t", if_exists="create_append")
        with refused, append as rows:
            for text in ("x", "y", "\0"):
                rows.write({"b": [text]})
    assert not in_postgres.exists()


def test_an_upsert_in_parts(place: Place) -> None:
    with colonnade.connect(place.uri) as connection:
        for value in (1, 2):
            with connection.append("t", if_exists="upsert", key=["id"]) as rows:
                for number in range(5):
                    rows.write({"id": [number], "value": [value]})
    assert [row["value"] for row in place.rows()] == [2] * 5


def test_it_is_a_part_of_the_users_transaction(in_postgres: Place) -> None:
    with colonnade.connect(in_postgres.uri) as connection:
        connection.execute("create table t (a bigint)")
        connection.execute("begin")
        with connection.append("t") as rows:
            rows.write({"a": [1]})
        assert in_postgres.rows() == []
        connection.execute("commit")
    assert in_postgres.rows() == [{"a": 1}]


def test_the_connection_is_busy_in_the_block(in_postgres: Place) -> None:
    with colonnade.connect(in_postgres.uri) as connection:
        with connection.append("t", if_exists="create_append") as rows:
            # After so many, the writer has begun.
            for _ in range(20):
                rows.write(BATCH)
            with pytest.raises(colonnade.InterfaceError):
                connection.query("select 1 as one")
        assert connection.query("select a from t").to_arrow().num_rows == 200_000


def test_ctrl_c_while_it_waits_for_a_lock(in_postgres: Place, session: psycopg.Connection) -> None:
    session.execute("create table t (a bigint)")
    with session.transaction(), colonnade.connect(in_postgres.uri) as connection:
        session.execute("lock table t in access exclusive mode")
        timer = threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT])
        timer.start()
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt), connection.append("t") as rows:
            rows.write({"a": [1]})
        timer.join()
        assert time.monotonic() - began < 8
        assert connection.query("select 1 as one").to_arrow().num_rows == 1
    assert in_postgres.rows() == []


def test_cancel_from_another_thread(in_postgres: Place) -> None:
    with colonnade.connect(in_postgres.uri) as connection:
        cancelled = pytest.raises(colonnade.OperationalError)
        with cancelled as caught, connection.append("t", if_exists="create_append") as rows:
            for number in range(10_000):
                rows.write(BATCH)
                if number == 5:
                    connection.cancel()
        assert caught.value.sqlstate == "57014" and not in_postgres.exists()


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({"if_exists": "x"}, ValueError),
        ({"index": False}, TypeError),
        ({"schema": 1}, TypeError),
        ({"kee": 1}, TypeError),
    ],
)
def test_wrong_arguments(in_sqlite: Place, arguments: dict[str, Any], kind: type[Exception]) -> None:
    with colonnade.connect(in_sqlite.uri) as connection, pytest.raises(kind):
        connection.append("t", **arguments)
