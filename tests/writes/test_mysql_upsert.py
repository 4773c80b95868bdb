"""Upserts, temporary tables and files of the user in MySQL."""

from __future__ import annotations

import os
from typing import Any

import colonnade
import pyarrow as pa
import pytest

from tests.writes.mysql_tables import ONE, append, failing, names, upsert
from tests.writes.places import Place


def test_an_upsert_replaces_and_adds(either_mariadb: Place) -> None:
    either_mariadb.execute("create table t (id int primary key, a varchar(9), kept int default 7)")
    either_mariadb.execute("insert into t values (1, 'old', 1), (2, 'old', 2)")
    for _ in range(2):
        assert upsert(pa.table({"a": ["new", "added"], "id": [2, 3]}), either_mariadb.uri, ["id"]).rows == 2
    assert [tuple(row.values()) for row in either_mariadb.rows()] == [(1, "old", 1), (2, "new", 2), (3, "added", 7)]
    with pytest.raises(colonnade.DatabaseError, match="two rows of the data have the same key") as caught:
        upsert(pa.table({"a": ["x", "y"], "id": [4, 4]}), either_mariadb.uri, ["id"])
    assert caught.value.sqlstate == "21000" and len(either_mariadb.rows()) == 3


def test_an_upsert_creates_a_table_with_its_key(either_mariadb: Place) -> None:
    table = pa.table({"k": ["a", "A", "a ", "ä", "\0"], "b": [b"\0", b"\0\0", b"", b"x", b"y"], "n": range(5)})
    for _ in range(2):
        upsert(table, either_mariadb.uri, ["k", "b"])
    assert either_mariadb.table().sort_by("n").equals(table)
    with pytest.raises(colonnade.IntegrityError):
        append(table, either_mariadb.uri)
    # Without its key, a text may be longer than a key.
    with pytest.raises(colonnade.DataError, match='column "k", row 1'):
        upsert(pa.table({"k": ["x" * 500], "b": [b""], "n": [1]}), either_mariadb.uri, ["k", "b"])


def test_a_number_that_the_server_makes_does_not_matter(in_mariadb: Place) -> None:
    in_mariadb.execute("create table t (id int primary key auto_increment, code varchar(9) not null unique, n int)")
    for number in (1, 2):
        upsert(pa.table({"code": ["x", "y"], "n": [number] * 2}), in_mariadb.uri, ["code"])
    assert [(row["code"], row["n"]) for row in in_mariadb.rows()] == [("x", 2), ("y", 2)]
    # With the number in the data, a row could equal another one in it.
    with pytest.raises(colonnade.NotSupportedError, match="another unique key, PRIMARY"):
        upsert(pa.table({"code": ["x"], "id": [5]}), in_mariadb.uri, ["code"])


@pytest.mark.parametrize(
    ("declared", "match"),
    [
        ("a int, b int", "no unique index on exactly the key"),
        ("a int unique, b int", "no unique index on exactly the key"),
        ("a int not null, b int, primary key (a, b)", "no unique index on exactly the key"),
        ("a int primary key, b int unique", "another unique key, b"),
    ],
)
def test_a_key_that_is_none_is_refused(in_mariadb: Place, declared: str, match: str) -> None:
    in_mariadb.execute(f"create table t ({declared})")
    with pytest.raises(colonnade.DatabaseError, match=match):
        upsert(pa.table({"a": [1], "b": [1]}), in_mariadb.uri, ["a"])
    in_mariadb.execute("drop table t")
    in_mariadb.execute("create table t (a varchar(20), b int, unique (a(3)))")
    with pytest.raises(colonnade.ProgrammingError) as caught:
        upsert(pa.table({"a": ["x"]}), in_mariadb.uri, ["a"])
    assert caught.value.sqlstate == "42P10"


def test_what_equals_a_key_is_stored_as_the_data_has_it(in_mariadb: Place) -> None:
    in_mariadb.execute("create table t (k varchar(9) collate utf8mb4_general_ci primary key, n int)")
    for number, text in enumerate(["a", "A", "Ä "]):
        upsert(pa.table({"k": [text], "n": [number]}), in_mariadb.uri, ["k"])
    assert in_mariadb.rows() == [{"k": "Ä ", "n": 2}]


def test_a_temporary_table_is_the_sessions(either_mariadb: Place) -> None:
    colonnade.write_sql(pa.table({"a": [100]}), either_mariadb.uri, "t")

    def found(connection: colonnade.Connection) -> list[int]:
        return connection.query("select a from t order by a").to_arrow()["a"].to_pylist()

    with colonnade.connect(either_mariadb.uri) as connection:
        write: Any = lambda data, mode: colonnade.write_sql(data, connection, "t", if_exists=mode, temporary=True)  # noqa: E731
        with pytest.raises(colonnade.ProgrammingError, match="does not exist"):
            write(ONE, "append")
        write(ONE, "fail")
        write(pa.table({"a": [2]}), "create_append")
        assert found(connection) == [1, 2]
        with pytest.raises(ValueError, match="mine"):
            write(failing(ValueError("mine")), "replace")
        assert found(connection) == [1, 2]
        write(pa.table({"a": [3]}), "replace")
        connection.execute("begin")
        write(pa.table({"a": [4]}), "append")
        connection.execute("rollback")
        assert found(connection) == [3]
        with pytest.raises(colonnade.NotSupportedError, match="temporary table of this session"):
            colonnade.write_sql(ONE, connection, "t", if_exists="replace")
        connection.execute("drop temporary table t")
        assert found(connection) == [100]
    assert names(either_mariadb) == ["t"]


def test_a_user_who_loads_a_file_gets_an_error(in_mariadb: Place, tmp_path: Any) -> None:
    in_mariadb.execute("create table t (a int)")
    file = tmp_path / "rows"
    file.write_text("1\n")
    with colonnade.connect(in_mariadb.uri) as connection:
        for _ in range(2):
            with pytest.raises(colonnade.NotSupportedError, match="a file of this machine") as caught:
                connection.execute(f"load data local infile '{os.fspath(file)}' into table t")
            assert caught.value.sqlstate == "0A000"
        append(pa.table({"a": [2]}), connection)
    assert in_mariadb.rows() == [{"a": 2}]
