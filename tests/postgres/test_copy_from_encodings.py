"""COPY FROM STDIN (FORMAT colonnade) into databases of other encodings than UTF-8: text is converted, or refused."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.postgres.copying import send, stream_of
from tests.testbed import postgres as pg

TO = "to stdout (format colonnade)"
FROM = "from stdin (format colonnade)"


@pytest.fixture(scope="module", params=["LATIN1", "EUC_JP", "SQL_ASCII"])
def session(installation: pg.Installation, request: pytest.FixtureRequest) -> Iterator[psycopg.Connection]:
    """A session that speaks UTF-8."""
    settings = {"session_preload_libraries": "colonnade"}
    with pg.cluster(installation, settings, encoding=request.param) as running, running.connect() as opened:
        opened.execute("set client_encoding to 'utf8'")
        yield opened


#: Characters that all of these encodings have.
WORD = "é§"


def test_text_and_names(session: psycopg.Connection) -> None:
    session.execute(f"create type kind as enum ('{WORD}', 'b')")
    session.execute(
        f'create table t ("{WORD}" text, v varchar(10), c char(4), k kind, n name, j jsonb, a text[], i int4range, '
        "b bytea)"
    )
    session.execute("create table back (like t)")
    session.execute(
        f"insert into t values ('{WORD}', '{WORD}', rpad('{WORD}', 4), '{WORD}', '{WORD}', '{{\"x\": \"y\"}}', "
        f"array['{WORD}', null], '[1,5)', '\\xff00'), (null, '', null, 'b', null, null, '{{}}', null, null)"
    )
    stream = stream_of(session, f"copy t {TO}")
    assert send(session, f"copy back {FROM}", [stream]) == 2
    assert (
        session.execute("select back::text from back").fetchall() == session.execute("select t::text from t").fetchall()
    )
    assert stream_of(session, f"copy back {TO}") == stream


def test_length_counts_the_databases_characters(session: psycopg.Connection) -> None:
    length = session.execute(f"select length('{WORD}')").fetchone()
    assert length is not None
    stream = stream_of(session, f"copy (select '{WORD}'::text as v) {TO}")
    for column, more in (("varchar", 0), ("char", 0), ("varchar", -1), ("char", 1)):
        session.execute(f"drop table if exists exact; create table exact (v {column}({length[0] + more}))")
        if more == 0:
            assert send(session, f"copy exact {FROM}", [stream]) == 1
            continue
        with pytest.raises(psycopg.Error) as caught:
            send(session, f"copy exact {FROM}", [stream])
        assert caught.value.sqlstate == ("22001" if more < 0 else "22026")


def test_what_the_database_cannot_store(session: psycopg.Connection, preloaded: pg.Cluster) -> None:
    with preloaded.connect() as other:
        stream = stream_of(other, f"copy (select 'ok' as v union all select '🧀') {TO}")
        named = stream_of(other, f'copy (select 1 as "🧀") {TO}')
    session.execute("drop table if exists cheese; create table cheese (v text, k int)")
    ascii_only = session.execute("show server_encoding").fetchone() == ("SQL_ASCII",)
    if ascii_only:
        # Such a database has no encoding: bytes are stored as they are.
        assert send(session, f"copy cheese (v) {FROM}", [stream]) == 2
        return
    with pytest.raises(psycopg.errors.UntranslatableCharacter) as caught:
        send(session, f"copy cheese (v) {FROM}", [stream])
    assert caught.value.diag.context == "COPY cheese, line 2, column v"
    with pytest.raises(psycopg.errors.UntranslatableCharacter):
        send(session, f"copy cheese {FROM}", [named])
    assert session.execute("select count(*) from cheese").fetchone() == (0,)
