"""Connections that are dropped without being closed: their sessions end on the server."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import suppress

import colonnade
import pytest

from tests.sources.every_source import Source
from tests.support.raw_client import wait_until
from tests.testbed import postgres as pg


def drop(uri: str) -> None:
    colonnade.connect(uri)


def drop_used(uri: str) -> None:
    connection = colonnade.connect(uri)
    assert connection.query("select 42 as a").to_arrow().num_rows == 1


def drop_unread(uri: str) -> None:
    colonnade.connect(uri).query("select generate_series(1, 1000000) as a")


def drop_half_read(uri: str) -> None:
    connection = colonnade.connect(uri)
    for _ in connection.query("select generate_series(1, 1000000) as a"):
        return


def drop_failed(uri: str) -> None:
    connection = colonnade.connect(uri)
    with pytest.raises(colonnade.Error):
        connection.query("select nonsense")


def drop_cancelled(uri: str) -> None:
    connection = colonnade.connect(uri)
    result = connection.query("select generate_series(1, 1000000) as a")
    connection.cancel()
    # A request that comes between two calls of ODBC has no effect.
    with suppress(colonnade.OperationalError):
        result.to_arrow()


def close_unread(uri: str) -> None:
    connection = colonnade.connect(uri)
    connection.query("select generate_series(1, 1000000) as a")
    connection.close()


@pytest.mark.parametrize("source", ["postgresql", "adbc-postgresql", "adbc-colonnade", "odbc"], indirect=True)
@pytest.mark.parametrize(
    "use", [drop, drop_used, drop_unread, drop_half_read, drop_failed, drop_cancelled, close_unread]
)
def test_a_session_ends_with_its_connection(stock: pg.Cluster, source: Source, use: Callable[[str], None]) -> None:
    def sessions() -> int:
        with stock.connect() as session:
            asked = "select count(*) from pg_stat_activity where datname = 'every_source'"
            ((count,),) = session.execute(asked).fetchall()
            return count

    before = sessions()
    use(source.uri)
    gc.collect()
    wait_until(lambda: sessions() <= before)
