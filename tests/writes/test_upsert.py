"""`if_exists="upsert"`: rows are replaced by their keys, and the same data twice leaves the same table."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import colonnade
import psycopg
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.writes.places import Place


def upsert(data: Any, place: Place, key: list[str], **options: Any) -> colonnade.WriteStats:
    return colonnade.write_sql(data, place.uri, "t", if_exists="upsert", key=key, **options)


def test_rows_with_a_key_are_replaced_and_others_added(place: Place) -> None:
    place.execute("create table t (id bigint primary key, name text, other text default 'kept')")
    place.execute("insert into t values (1, 'a', 'x'), (2, 'b', 'y')")
    stats = upsert(pa.table({"name": ["B", "C"], "id": [2, 3]}), place, ["id"])
    assert stats.rows == 2
    assert sorted(place.rows(), key=lambda row: row["id"]) == [
        {"id": 1, "name": "a", "other": "x"},
        {"id": 2, "name": "B", "other": "y"},
        {"id": 3, "name": "C", "other": "kept"},
    ]


def test_a_missing_table_is_created_with_the_key(place: Place) -> None:
    table = pa.table({"a": [1, 1], "b": ["x", "y"], "n": [1.5, None]})
    for _ in range(3):
        assert upsert(table, place, ["b", "a"]).rows == 2
    assert sorted(place.rows(), key=lambda row: row["b"]) == table.to_pylist()
    with pytest.raises(colonnade.IntegrityError):
        colonnade.write_sql(table, place.uri, "t", if_exists="append")


@pytest.mark.parametrize("rows", [0, 1, 200_000])
def test_the_same_data_twice_leaves_the_same_table(place: Place, rows: int) -> None:
    table = pa.table({"id": pa.array(range(rows), pa.int64()), "b": pa.array(map(str, range(rows)), pa.string())})
    for _ in range(2):
        assert upsert(table, place, ["id"]).rows == rows
    assert place.table().sort_by("id").equals(table)


def test_data_of_only_keys_adds_what_is_missing(place: Place) -> None:
    place.execute("create table t (id bigint primary key, name text default 'new')")
    place.execute("insert into t values (1, 'old')")
    for _ in range(2):
        assert upsert(pa.table({"id": [2, 1, 3]}), place, ["id"]).rows == 3
    assert sorted((row["id"], row["name"]) for row in place.rows()) == [(1, "old"), (2, "new"), (3, "new")]


@pytest.mark.parametrize("columns", [["id", "b"], ["id"]])
def test_a_key_that_comes_twice_is_an_error_that_names_it(place: Place, columns: list[str]) -> None:
    place.execute("create table t (id bigint primary key, b text)")
    place.execute("insert into t values (7, 'old')")
    table = pa.table({"id": [7, 8, 7], "b": ["x", "y", "z"]}).select(columns)
    # MySQL's own error has the value.
    shown = r"the same key \(`id`\): .*'7'" if place.is_mariadb else r'the key \("id"\) = \(7\)'
    with pytest.raises(colonnade.DatabaseError, match=f"two rows of the data have {shown}") as caught:
        upsert(table, place, ["id"])
    assert caught.value.sqlstate == "21000" and place.rows() == [{"id": 7, "b": "old"}]


def test_a_key_of_several_columns_that_comes_twice(place: Place) -> None:
    batches = [pa.record_batch({"a": [1], "b": ["x" * 500], "c": [0]})] * 2
    shown = r"\(`b`, `a`\): .*xxx" if place.is_mariadb else r'\("b", "a"\) = \(x{100}…, 1\)'
    with pytest.raises(colonnade.DatabaseError, match=shown) as caught:
        upsert(iter(batches), place, ["b", "a"])
    assert caught.value.sqlstate == "21000" and not place.exists()


@pytest.mark.parametrize("column", [pa.array([1, 2, None]), pa.array(["x", "y", None]).dictionary_encode()])
def test_null_in_the_key_is_an_error_that_names_column_and_row(place: Place, column: pa.Array) -> None:
    first = pa.record_batch({"id": column.slice(0, 2), "b": [1, 2]})
    second = pa.record_batch({"id": column.slice(2, 1), "b": [3]})
    with pytest.raises(colonnade.IntegrityError, match='column "id", row 3: NULL in the key') as caught:
        upsert(iter([first, second]), place, ["id"])
    assert caught.value.sqlstate == "23502" and not place.exists()


@pytest.mark.parametrize(
    "declared",
    [
        "create table t (a bigint, b text)",
        "create table t (a bigint, b text, unique (a, b))",
        "create table t (a bigint, b text); create unique index i on t (a) where b = 'x'",
        "create table t (a bigint, b text); create unique index i on t ((a + 0))",
        "create table t (a bigint, b text); create index i on t (a)",
    ],
)
@pytest.mark.parametrize("which", ["postgres", "sqlite"])
def test_the_key_must_be_a_unique_index(which: str, declared: str, request: pytest.FixtureRequest) -> None:
    place: Place = request.getfixturevalue(f"in_{which}")
    place.execute(declared)
    with pytest.raises(colonnade.ProgrammingError, match=r'no unique index on exactly the key \("a"\)') as caught:
        upsert(pa.table({"a": [1], "b": ["x"]}), place, ["a"])
    assert caught.value.sqlstate == "42P10" and "CREATE UNIQUE INDEX" in str(caught.value.hint)
    assert ('give a key that has one: ("a", "b")' in str(caught.value.hint)) == ("unique (a, b)" in declared)
    assert ("partial" in caught.value.message or "WHERE" in caught.value.message) == ("where" in declared)
    assert place.rows() == []


def test_the_key_must_be_a_key_of_the_table(place: Place) -> None:
    text = "varchar(9)" if place.is_mariadb else "text"
    place.execute(f"create table t (a bigint, b {text} not null, unique (a, b))")
    with pytest.raises(colonnade.ProgrammingError, match="exactly the key") as caught:
        upsert(pa.table({"a": [1], "b": ["x"]}), place, ["a"])
    assert caught.value.sqlstate == "42P10" and caught.value.hint
    assert place.rows() == []


def test_a_deferrable_constraint_is_no_key(in_postgres: Place) -> None:
    in_postgres.execute("create table t (a bigint unique deferrable, b text)")
    with pytest.raises(colonnade.ProgrammingError, match="deferrable"):
        upsert(pa.table({"a": [1], "b": ["x"]}), in_postgres, ["a"])


def test_a_unique_index_with_other_columns_in_it_is_a_key(in_postgres: Place) -> None:
    in_postgres.execute("create table t (a bigint, b text, c text)")
    in_postgres.execute("create unique index i on t (b, a) include (c)")
    for _ in range(2):
        upsert(pa.table({"a": [1], "b": ["x"], "c": ["y"]}), in_postgres, ["a", "b"])
    assert in_postgres.rows() == [{"a": 1, "b": "x", "c": "y"}]


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"if_exists": "upsert"}, "needs the key"),
        ({"if_exists": "append", "key": ["a"]}, "for if_exists"),
        ({"if_exists": "upsert", "key": ["A"]}, 'no column "A"'),
        ({"if_exists": "upsert", "key": ["a", "a"]}, "twice"),
    ],
)
def test_a_key_that_does_not_fit_is_refused(place: Place, arguments: dict[str, Any], match: str) -> None:
    with pytest.raises(colonnade.InterfaceError, match=match):
        colonnade.write_sql(pa.table({"a": [1]}), place.uri, "t", **arguments)
    assert not place.exists()


def test_a_key_as_text_is_a_mistake(place: Place) -> None:
    with pytest.raises(TypeError, match=r"such as \['a'\]"):
        upsert(pa.table({"a": [1]}), place, "a")  # type: ignore[arg-type]


def test_what_equals_a_key_is_stored_as_the_data_has_it(in_postgres: Place) -> None:
    """0.0 equals -0.0, 1.0 equals 1.00 and 1 day equals 24 hours, and yet the values differ."""
    days, hours = pa.MonthDayNano([0, 1, 0]), pa.MonthDayNano([0, 0, 86_400 * 10**9])
    in_postgres.execute("create table t (f float8 primary key, n int); create table u (i interval primary key, n int)")
    for value in (0.0, -0.0):
        upsert(pa.table({"f": [value], "n": [1]}), in_postgres, ["f"])
    assert str(in_postgres.rows()[0]["f"]) == "-0.0" and len(in_postgres.rows()) == 1
    for value in (days, hours):
        data = pa.table({"i": pa.array([value]), "n": [1]})
        colonnade.write_sql(data, in_postgres.uri, "u", if_exists="upsert", key=["i"])
    assert in_postgres.rows("u") == [{"i": hours, "n": 1}]


@pytest.mark.parametrize("which", ["postgres", "sqlite"])
def test_a_collation_that_ignores_case(which: str, request: pytest.FixtureRequest) -> None:
    place: Place = request.getfixturevalue(f"in_{which}")
    if place.is_sqlite:
        place.execute("create table t (k text collate nocase primary key, n bigint)")
    else:
        place.execute("create collation nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
        place.execute("create table t (k text collate nocase primary key, n bigint)")
    for text in ("a", "A"):
        upsert(pa.table({"k": [text], "n": [1]}), place, ["k"])
    assert place.rows() == [{"k": "A", "n": 1}]
    for columns in (["k", "n"], ["k"]):
        with pytest.raises(colonnade.DatabaseError) as caught:
            upsert(pa.table({"k": ["b", "B"], "n": [1, 2]}).select(columns), place, ["k"])
        assert caught.value.sqlstate == "21000"
    assert place.rows() == [{"k": "A", "n": 1}]


KEYS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "integers": (pa.int64(), st.integers(-5, 5)),
    "texts": (pa.string(), st.sampled_from(["", "a", "A", "a ", "ä", "'", '"', "1", "1.0", "01"])),
    "decimals": (pa.decimal128(9, 2), st.integers(-300, 300).map(lambda number: Decimal(number).scaleb(-2))),
    "days": (pa.date32(), st.integers(0, 3)),
    "bytes": (pa.binary(), st.binary(max_size=1)),
}


@pytest.mark.parametrize("kind", KEYS)
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
@pytest.mark.parametrize("which", ["postgres", "extended", "sqlite", "mariadb", "duckdb", "serve"])
def test_it_does_what_a_dict_does(which: str, kind: str, data: st.DataObject, request: pytest.FixtureRequest) -> None:
    place: Place = request.getfixturevalue(f"{which}_place")
    key_type, values = KEYS[kind]
    expected: dict[Any, int] = {}
    place.execute("drop table if exists t")
    for number in range(3):
        keys = data.draw(st.lists(values, max_size=6))
        table = pa.table({"k": pa.array(keys, key_type), "n": pa.array([number] * len(keys), pa.int64())})
        distinct = set(table["k"].to_pylist())
        if len(distinct) < len(keys):
            with pytest.raises(colonnade.DatabaseError) as caught:
                upsert(table, place, ["k"])
            assert caught.value.sqlstate == "21000"
            continue
        upsert(table, place, ["k"])
        expected |= dict.fromkeys(distinct, number)
    if place.exists():
        assert {row["k"]: row["n"] for row in place.rows()} == expected
        assert len(place.rows()) == len(expected)


def test_two_upserts_in_a_transaction_of_the_user(in_postgres: Place) -> None:
    table = pa.table({"a": [1], "b": ["x"]})
    with colonnade.connect(in_postgres.uri) as connection:
        connection.execute("begin")
        for value in ("x", "y"):
            connection.write(pa.table({"a": [1], "b": [value]}), "t", if_exists="upsert", key=["a"])
        with pytest.raises(colonnade.DatabaseError) as caught:
            connection.write(pa.concat_tables([table, table]), "t", if_exists="upsert", key=["a"])
        assert caught.value.sqlstate == "21000"
        assert connection.query("select b from t").to_arrow()["b"].to_pylist() == ["y"]
        connection.execute("commit")
    assert in_postgres.rows() == [{"a": 1, "b": "y"}]


def test_an_identity_column_and_a_generated_one(in_postgres: Place) -> None:
    in_postgres.execute(
        "create table t (id int generated always as identity primary key, a bigint,"
        " c bigint generated always as (a + 1) stored)"
    )
    for value in (1, 2):
        upsert(pa.table({"id": [5], "a": [value]}), in_postgres, ["id"])
    assert in_postgres.rows() == [{"id": 5, "a": 2, "c": 3}]


LOG = """
    create table log (what text);
    create function note() returns trigger language plpgsql as
        'begin insert into log values (tg_when || '' '' || tg_op); return new; end';
    create trigger before_row before insert or update on t for each row execute function note();
"""


def test_triggers_are_those_of_insert_and_update(in_postgres: Place) -> None:
    in_postgres.execute(f"create table t (a int primary key, b int); insert into t values (1, 1); {LOG}")
    upsert(pa.table({"a": [1, 2], "b": [2, 2]}), in_postgres, ["a"])
    assert [row["what"] for row in in_postgres.rows("log")] == ["BEFORE INSERT", "BEFORE UPDATE", "BEFORE INSERT"]


@pytest.mark.parametrize("which", ["postgres", "sqlite"])
@pytest.mark.parametrize("columns", [["a", "b"], ["a"]])
def test_a_trigger_that_drops_a_row_is_noticed(which: str, columns: list[str], request: pytest.FixtureRequest) -> None:
    place: Place = request.getfixturevalue(f"in_{which}")
    place.execute("create table t (a bigint primary key, b bigint)")
    if place.is_sqlite:
        place.execute("create trigger drops before insert on t when new.a = 2 begin select raise(ignore); end")
    else:
        place.execute(
            "create function drop_row() returns trigger language plpgsql as 'begin return null; end';"
            "create trigger drops before insert on t for each row when (new.a = 2) execute function drop_row()"
        )
    with pytest.raises(colonnade.DatabaseError, match="stored 2 of 3 rows"):
        upsert(pa.table({"a": [1, 2, 3], "b": [1, 2, 3]}).select(columns), place, ["a"])
    assert place.rows() == []


def test_other_constraints_are_errors(place: Place) -> None:
    place.execute("create table t (a bigint primary key, b bigint unique)")
    place.execute("insert into t values (1, 1), (2, 2)")
    # MySQL compares every unique key, so a second one is refused.
    with pytest.raises(colonnade.NotSupportedError if place.is_mariadb else colonnade.IntegrityError):
        upsert(pa.table({"a": [1], "b": [2]}), place, ["a"])
    assert [tuple(row.values()) for row in place.rows()] == [(1, 1), (2, 2)]


def test_a_partitioned_table(in_postgres: Place) -> None:
    in_postgres.execute(
        "create table t (a int primary key, b text) partition by range (a);"
        "create table t1 partition of t for values from (0) to (10);"
        "create table t2 partition of t for values from (10) to (20)"
    )
    for text in ("x", "y"):
        upsert(pa.table({"a": [1, 11], "b": [text, text]}), in_postgres, ["a"])
    assert [tuple(row.values()) for row in in_postgres.rows()] == [(1, "y"), (11, "y")]


def test_domains_enums_and_their_rules(in_postgres: Place) -> None:
    in_postgres.execute("create type mood as enum ('sad', 'ok'); create domain small as int check (value < 10)")
    in_postgres.execute("create table t (m mood, s small, n int not null default 3, primary key (m, s))")
    data = pa.table({"m": ["ok", "sad"], "s": [1, 2], "n": [4, 5]})
    for _ in range(2):
        upsert(data, in_postgres, ["m", "s"])
    assert in_postgres.rows() == data.to_pylist()
    with pytest.raises(colonnade.IntegrityError) as caught:
        upsert(pa.table({"m": ["ok"], "s": [10], "n": [1]}), in_postgres, ["m", "s"])
    assert caught.value.sqlstate == "23514"
    with pytest.raises(colonnade.IntegrityError) as caught:
        upsert(pa.table({"m": ["ok"], "s": [1], "n": pa.array([None], pa.int32())}), in_postgres, ["m", "s"])
    assert caught.value.sqlstate == "23502"


@pytest.fixture
def guest(session: psycopg.Connection, in_postgres: Place) -> Iterator[str]:
    """The URI of a user without rights."""
    session.execute("create role upsert_guest login")
    session.execute("do $$ begin execute format('grant usage on schema %I to upsert_guest', current_schema()); end $$")
    yield in_postgres.uri.replace("tester@", "upsert_guest@")
    session.execute("drop owned by upsert_guest; drop role upsert_guest")


def test_the_rights_are_those_of_insert_on_conflict(
    in_postgres: Place, session: psycopg.Connection, guest: str
) -> None:
    session.execute("create table t (a int primary key, b int, secret int)")
    data = pa.table({"a": [1], "b": [1]})
    for right in ("insert", "update (b)"):
        with pytest.raises(colonnade.ProgrammingError) as caught:
            colonnade.write_sql(data, guest, "t", if_exists="upsert", key=["a"])
        assert caught.value.sqlstate == "42501"
        session.execute(f"grant {right} on t to upsert_guest")
    session.execute("grant select (a, b) on t to upsert_guest")
    colonnade.write_sql(data, guest, "t", if_exists="upsert", key=["a"])
    assert in_postgres.rows() == [{"a": 1, "b": 1, "secret": None}]


def test_row_security_is_that_of_insert(in_postgres: Place, session: psycopg.Connection, guest: str) -> None:
    session.execute("create table t (a int primary key, b int); alter table t enable row level security")
    session.execute("create policy p on t using (b < 5); grant select, insert, update on t to upsert_guest")
    for _ in range(2):
        colonnade.write_sql(pa.table({"a": [1], "b": [1]}), guest, "t", if_exists="upsert", key=["a"])
    with pytest.raises(colonnade.ProgrammingError) as caught:
        colonnade.write_sql(pa.table({"a": [1], "b": [5]}), guest, "t", if_exists="upsert", key=["a"])
    assert caught.value.sqlstate == "42501" and in_postgres.rows() == [{"a": 1, "b": 1}]


def test_two_writers_at_once_leave_every_key_once(in_postgres: Place) -> None:
    in_postgres.execute("create table t (a bigint primary key, writer bigint)")
    errors: list[BaseException] = []

    def write(number: int) -> None:
        table = pa.table({"a": range(5000), "writer": [number] * 5000})
        try:
            upsert(table, in_postgres, ["a"])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # The keys come in one order, so the writers wait for each other and do not deadlock.
    assert errors == []
    table = in_postgres.table()
    assert sorted(table["a"].to_pylist()) == list(range(5000)) and len(set(table["writer"].to_pylist())) == 1


@pytest.mark.parametrize("which", ["in_duckdb", "in_serve"])
@pytest.mark.parametrize(
    ("declared", "stored", "keys"),
    [
        ("varchar collate nocase", "'a'", pa.array(["A", "b"])),
        ("double", "0.0", pa.array([-0.0, 1.0])),
        ("float", "0.0", pa.array([-0.0, float("nan")], pa.float32())),
        ("bigint", "5", pa.array([5, 6])),
    ],
)
@pytest.mark.parametrize("columns", [["k", "s", "v"], ["k", "s"]])
def test_a_key_that_is_equal_and_not_the_same_is_written(
    which: str, declared: str, stored: str, keys: pa.Array, columns: list[str], request: pytest.FixtureRequest
) -> None:
    """DuckDB's ON CONFLICT finds the row, and keeps its key as it was."""
    place: Place = request.getfixturevalue(which)
    place.execute(f"create table t (k {declared}, s bigint, v bigint default 7, primary key (s, k))")
    place.execute(f"insert into t values ({stored}, 1, 1), ({stored}, 2, 2)")
    table = pa.table({"k": keys, "s": [1, 1], "v": [3, 4]}).select(columns)
    for _ in range(2):
        assert upsert(table, place, ["k", "s"]).rows == 2
    values = {"v": [3, 4]} if "v" in columns else {"v": [1, 7]}
    expected = pa.table({"k": keys, "s": [1, 1], **values}).to_pylist()
    changed = [row for row in place.table().sort_by("v").to_pylist() if row["s"] == 1]
    # As texts, because 0.0 and -0.0 are equal, and NaN is not.
    assert list(map(str, changed)) == list(map(str, expected))
    [other] = [row for row in place.rows() if row["s"] == 2]
    assert other["v"] == 2 and str(other["k"]) == stored.strip("'")
