"""`write_sql` to PostgreSQL with the extension: when rows go as columns, and when in COPY's binary format."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import count

import colonnade
import pyarrow as pa
import pytest

from tests.testbed import postgres as pg
from tests.writes.places import Place

_numbers = count()
#: Columns that all have a type in the stream.
COLUMNS = (
    "a smallint, b integer, c bigint, d real, e double precision, f numeric(12,2), g numeric(60,10), h text, "
    "i varchar(3), j char(3), k json, l bytea, m date, n time(3), o timestamp, p timestamptz(0), q uuid, r boolean"
)
DAY = datetime.date(2024, 2, 29)
MOMENT = datetime.datetime(2024, 2, 29, 12, 30, 15)
UUID = "123e4567-e89b-12d3-a456-426614174000"
ROW = {
    "a": pa.array([-(2**15), None], pa.int64()),
    "b": pa.array([2**31 - 1, None], pa.uint32()),
    "c": pa.array([2**63 - 1, None], pa.uint64()),
    "d": pa.array([0.5, None], pa.float64()),
    "e": pa.array([-0.0, None], pa.float32()),
    "f": pa.array([Decimal("9999999999.99"), None], pa.decimal128(12, 2)),
    "g": pa.array([Decimal("0.0000000001"), None], pa.decimal256(60, 10)),
    "h": pa.array(["漢🧀", None], pa.large_string()),
    "i": pa.array(["ß漢🧀", None], pa.string_view()),
    "j": pa.array(["x  ", None]).dictionary_encode(),
    "k": pa.array(['{"a":  1}', None]),
    "l": pa.array([b"\0x", None], pa.binary(2)),
    "m": pa.array([DAY, None], pa.date64()),
    "n": pa.array([datetime.time(1, 2, 3, 4000), None], pa.time32("ms")),
    "o": pa.array([MOMENT, None], pa.timestamp("ns")),
    "p": pa.array([MOMENT, None], pa.timestamp("s", "Asia/Kolkata")),
    "q": pa.array([UUID.upper(), None]),
    "r": pa.array([True, None]),
}


def formats(cluster: pg.Cluster, name: str) -> list[str]:
    """The formats of the COPY FROM statements of an application, from the server's log."""
    return re.findall(rf"(?m)^\d+ {name} .*FROM STDIN \(FORMAT (\w+)", cluster.log.read_text())


class Logged:
    """A place whose COPY statements are logged under a name of their own."""

    def __init__(self, cluster: pg.Cluster, place: Place) -> None:
        self._cluster, self._name = cluster, f"logged_{next(_numbers)}"
        self.uri = f"{place.uri}%20-c%20log_statement=all&application_name={self._name}"

    @property
    def formats(self) -> list[str]:
        return formats(self._cluster, self._name)


@pytest.fixture
def logged(extended: pg.Cluster, in_extended: Place) -> Logged:
    return Logged(extended, in_extended)


def test_rows_go_as_columns(logged: Logged, in_extended: Place) -> None:
    in_extended.execute(f"create table t ({COLUMNS})")
    assert colonnade.write_sql(pa.table(ROW), logged.uri, "t", if_exists="append").rows == 2
    assert logged.formats == ["colonnade"]
    first, second = in_extended.rows()
    assert set(second.values()) == {None}
    assert (
        str(first.pop("e")) == "-0.0" and first.pop("p").timestamp() == MOMENT.replace(tzinfo=datetime.UTC).timestamp()
    )
    expected = {name: column[0].as_py() for name, column in ROW.items() if name not in "ep"}
    expected |= {"m": DAY, "o": MOMENT, "q": UUID}
    assert first == expected


@pytest.mark.parametrize("mode", ["fail", "replace", "truncate", "create_append", "upsert"])
def test_in_each_mode(logged: Logged, in_extended: Place, mode: str) -> None:
    table = pa.table({"a": [1, 2], "b": ["x", None]})
    key = {"key": ["a"]} if mode == "upsert" else {}
    if mode != "fail":
        in_extended.execute("create table t (a bigint primary key, b text)")
    colonnade.write_sql(table, logged.uri, "t", if_exists=mode, **key)
    assert logged.formats == ["colonnade"] and in_extended.rows() == table.to_pylist()


def test_into_a_temporary_table_and_a_transaction_of_the_user(logged: Logged, in_extended: Place) -> None:
    with colonnade.connect(logged.uri) as connection:
        colonnade.write_sql(pa.table({"a": [1]}), connection, "t", temporary=True)
        assert connection.query("select a from pg_temp.t").to_arrow().to_pylist() == [{"a": 1}]
        connection.execute("begin")
        colonnade.write_sql(pa.table({"a": [2]}), connection, "u")
        assert not in_extended.exists("u")
        connection.execute("rollback")
    assert logged.formats == ["colonnade"] * 2 and not in_extended.exists("u")


@pytest.mark.parametrize(
    ("declared", "column"),
    [
        ("numeric", pa.array([Decimal("1.50")])),
        ("numeric(3,-2)", pa.array([1200])),
        ("numeric(77,1)", pa.array([1])),
        ("interval", pa.array([1], pa.duration("us"))),
        ("integer[]", pa.array([[1, None]])),
        ("mood", pa.array(["ok"])),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_other_columns_go_in_binary(logged: Logged, in_extended: Place, declared: str, column: pa.Array) -> None:
    in_extended.execute("create type mood as enum ('sad', 'ok')")
    in_extended.execute(f"create table t (a {declared}, b bigint)")
    colonnade.write_sql(pa.table({"a": column, "b": [1]}), logged.uri, "t", if_exists="append")
    assert logged.formats == ["binary"]
    # Only the columns of the data matter.
    colonnade.write_sql(pa.table({"b": [2]}), logged.uri, "t", if_exists="append")
    assert logged.formats == ["binary", "colonnade"] and [row["b"] for row in in_extended.rows()] == [1, 2]


@pytest.mark.parametrize(
    ("declared", "column", "sqlstate"),
    [
        # pyarrow does not check the digits of these.
        ("numeric(4,2)", pa.array([Decimal("99999.99")], pa.decimal128(7, 2)).view(pa.decimal128(4, 2)), "22003"),
        ("numeric(40,2)", pa.array([10**41], pa.decimal256(42, 0)), "22003"),
        # The number of days that means infinity in date32.
        ("date", pa.array([(2**31 - 1) * 86_400_000], pa.int64()).view(pa.date64()), "22008"),
        ("timestamp(0)", pa.array([1], pa.timestamp("us")), "22008"),
        ("time(3)", pa.array([1], pa.time64("us")), "22008"),
        ("time", pa.array([-1], pa.int64()).view(pa.time64("us")), "22008"),
        ("char(2)", pa.array(["x"]), "22001"),
        ("varchar(2)", pa.array(["x  "]), "22001"),
        ("text", pa.array(["\0"]), "22021"),
        ("real", pa.array([0.1]), "22003"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_errors_are_those_of_the_binary_format(
    in_extended: Place, postgres_place: Place, declared: str, column: pa.Array, sqlstate: str
) -> None:
    found = []
    for place in (in_extended, postgres_place):
        place.execute(f"drop table if exists t; create table t (a {declared})")
        table = pa.table({"a": pa.concat_arrays([pa.nulls(2, column.type), column])})
        with pytest.raises(colonnade.DataError, match='column "a", row 3: ') as caught:
            colonnade.write_sql(table, place.uri, "t", if_exists="append")
        assert caught.value.sqlstate == sqlstate and place.rows() == []
        found.append(str(caught.value).partition('column "a"')[2])
    assert found[0] == found[1]


@pytest.fixture
def old(extended: pg.Cluster) -> Iterator[str]:
    """A database whose extension does what a version before the setting did when it is loaded."""
    with extended.connect() as session:
        session.execute("create database with_old_extension")
        with extended.connect("with_old_extension") as inside:
            inside.execute("create extension colonnade")
            inside.execute("create or replace function colonnade_version() returns integer language sql as 'select 1'")
        yield "with_old_extension"
        session.execute("drop database with_old_extension with (force)")


def test_an_old_extension_gets_the_binary_format(extended: pg.Cluster, old: str) -> None:
    uri = extended.uri(old, options="-c log_statement=all", application_name="to_an_old_extension")
    with colonnade.connect(uri) as connection:
        assert connection.server.endswith(" with colonnade 1")
        colonnade.write_sql(pa.table({"a": [1, 2]}), connection, "t")
    assert formats(extended, "to_an_old_extension") == ["binary"]
    with extended.connect(old) as session:
        assert session.execute("select a from t").fetchall() == [(1,), (2,)]


def test_an_announcement_saves_the_question(installation: pg.Installation) -> None:
    settings = {"session_preload_libraries": "colonnade", "log_statement": "all"}
    with pg.cluster(installation, settings) as preloaded:
        colonnade.write_sql(pa.table({"a": [1]}), preloaded.uri(application_name="announced"), "t")
        assert formats(preloaded, "announced") == ["colonnade"]
        assert "current_setting" not in preloaded.log.read_text()


def test_the_right_to_insert_is_enough(logged: Logged, in_extended: Place, extended: pg.Cluster) -> None:
    in_extended.execute("create table t (a bigint)")
    with extended.connect() as session:
        schema = in_extended.uri.rpartition("%3D")[2]
        session.execute(f"create role inserter login; grant usage on schema {schema} to inserter")
        session.execute(f"grant insert on {schema}.t to inserter")
        try:
            uri = in_extended.uri.replace("tester@", "inserter@")
            colonnade.write_sql(pa.table({"a": [7]}), uri, "t", if_exists="append")
            with pytest.raises(colonnade.ProgrammingError) as caught:
                colonnade.write_sql(pa.table({"a": [7]}), uri, "t", if_exists="truncate")
            assert caught.value.sqlstate == "42501" and in_extended.rows() == [{"a": 7}]
        finally:
            session.execute("drop owned by inserter; drop role inserter")
