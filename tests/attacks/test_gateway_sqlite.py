"""`colonnade serve --source sqlite:`: whatever a client sends, only the served file is reached, and within bounds."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.support import fronts
from tests.support.users import add_user
from tests.testbed.serving import Server, serve

SERVED = "create table t (i integer, v text); insert into t values (1, 'x'), (2, 'y'); create index ti on t (i)"
OTHER = "create table hidden (v text); insert into hidden values ('of another file')"


def make(path: Path, script: str) -> Path:
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sqlite")
    make(folder / "served.sqlite", SERVED)
    make(folder / "other.sqlite", OTHER)
    return folder


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Server]:
    with serve("--source", f"sqlite:///{folder}/served.sqlite") as server:
        yield server


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


#: `@` stands for the folder. The same with comments, in other letters and in EXPLAIN below.
ATTEMPTS = [
    "vacuum into '@/stolen.sqlite'",
    "vacuum main into '@/stolen.sqlite'",
    "vacuum",
    "attach '@/other.sqlite' as o",
    "attach database ('@/other' || '.sqlite') as o",
    "attach 'file:@/new.sqlite?mode=rwc' as o",
    "attach '' as o",
    "attach ':memory:' as o",
    "detach main",
    "select load_extension('@/evil.so')",
    "select load_extension('@/evil', 'init')",
    "select writefile('@/written', 'x')",
    "select readfile('@/other.sqlite')",
    "select fts3_tokenizer('simple', x'4141414141414141')",
    "select edit('x', 'sh')",
    "pragma temp_store_directory = '@'",
    "pragma journal_mode = delete",
    "pragma journal_mode(wal)",
    "pragma writable_schema = on",
    "pragma query_only = off",
    "pragma hard_heap_limit = 0",
    "pragma soft_heap_limit = 0",
    "pragma mmap_size = 1000000000",
    "pragma cache_size = 1000000",
    "pragma threads = 8",
    "pragma wal_checkpoint(truncate)",
    "pragma database_list",
    "pragma optimize",
    "pragma incremental_vacuum",
    "pragma main.user_version = 7",
    "select * from pragma_database_list",
    "select * from pragma_journal_mode('wal')",
    "create virtual table temp.f using fts5(a)",
    "create table n (i)",
    "create view n as select 1",
    "create temp trigger g after insert on t begin select 1; end",
    "insert into t values (3, 'z')",
    "update t set v = 'z'",
    "delete from t",
    "drop table t",
    "drop index ti",
    "alter table t rename to u",
    "alter table t add column w",
    "reindex t",
    "analyze",
    "update sqlite_master set sql = 'x'",
    "insert into sqlite_temp_schema values ('table', 'n', 'n', 0, 'x')",
]


@pytest.mark.parametrize("statement", ATTEMPTS)
def test_what_reaches_beyond_the_file_is_refused(served: Server, folder: Path, statement: str) -> None:
    before = files(folder)
    statement = statement.replace("@", str(folder))
    words = statement.split(" ", 1)
    with fronts.connect(served) as client:
        for form in (
            statement,
            "/* x */ " + "/**/\n".join(words),
            words[0].upper() + " " + words[1] if len(words) > 1 else statement.upper(),
            f"select 1; {statement}",
        ):
            with pytest.raises(psycopg.Error):
                client.execute(form)
            with pytest.raises(psycopg.Error):
                client.execute(form, prepare=True)
        # Nothing of it is left behind in the session.
        assert client.execute("select count(*) from t").fetchall() == [(2,)]
        with pytest.raises(psycopg.Error):
            client.execute("select * from o.hidden")
        with pytest.raises(psycopg.Error), client.cursor().copy(f"copy ({statement}) to stdout") as copy:
            list(copy)
    assert files(folder) == before


def test_a_read_only_user_is_held_to_the_same(folder: Path, tmp_path: Path) -> None:
    before = files(folder)
    users = tmp_path / "users"
    add_user(users, "reader", "secret", "--read-only")
    with serve("--source", f"sqlite:///{folder}/served.sqlite", "--users", users) as server:
        dsn = f"host={server.host} port={server.port} user=reader password=secret"
        with psycopg.connect(dsn, autocommit=True) as client:
            for statement in ATTEMPTS:
                with pytest.raises(psycopg.Error):
                    client.execute(statement.replace("@", str(folder)))
    assert files(folder) == before


ORDINARY = [
    ("select v from t where i = 2", [("y",)]),
    ("with recursive n(i) as (select 1 union all select i + 1 from n where i < 5) select sum(i) from n", [(15,)]),
    ("select group_concat(v, '-') over (order by i) from t order by i", [("x",), ("x-y",)]),
    ("select upper(v), json_extract('{\"a\": 1}', '$.a') from t limit 1", [("X", 1)]),
    ("select name from pragma_table_info('t')", [("i",), ("v",)]),
    ("select date('2024-02-29', '+1 day')", [("2024-03-01",)]),
]


def test_what_reads_the_file_goes_on(served: Server) -> None:
    with fronts.connect(served) as client:
        for statement, expected in ORDINARY:
            assert client.execute(statement).fetchall() == expected, statement
        for pragma in ("table_info('t')", "index_list(t)", "user_version", "page_size", "integrity_check"):
            assert client.execute(f"pragma {pragma}").fetchall()
        client.execute("create temp table mine as select * from t")
        client.execute("create index temp.mi on mine (i)")
        client.execute("insert into mine values (7, 'seven')")
        assert client.execute("update mine set v = 'eight' where i = 7 returning v").fetchall() == [("eight",)]
        assert client.execute("delete from mine").statusmessage == "DELETE 3"
        client.execute("drop table mine")
        client.execute("begin; select 1; commit")
        client.execute("savepoint a")
        client.execute("release a")
        assert client.execute("explain query plan select * from t where i = 1").fetchall()


@pytest.mark.parametrize(
    "statement",
    [
        "select hex(randomblob(499999999))",
        "select zeroblob(1000000000)",
        "select length(replace(hex(zeroblob(60000000)), '0', 'aaaaaaaaaaaaaaaa'))",
        "select printf('%2000000000d', 1)",
        "with recursive n(v) as (select 'x' union all select v || v from n) select max(length(v)) from n",
        "select json_group_array(hex(zeroblob(50000000))) from (values (1), (2), (3), (4), (5), (6), (7), (8))",
        "select " + ", ".join(["hex(randomblob(60000000))"] * 40),
        "select group_concat(hex(zeroblob(30000000))) from t a, t b, t c, t d, t e",
    ],
)
def test_memory_has_a_bound(served: Server, statement: str) -> None:
    with fronts.connect(served) as client:
        with pytest.raises(psycopg.Error) as caught:
            client.execute(statement)
        assert caught.value.sqlstate in ("54000", "53200"), caught.value
        assert client.execute("select count(*) from t").fetchall() == [(2,)]
    # The library's own bound, what is copied on the way, and the process itself.
    assert served.memory("VmHWM") < 3 << 30
