"""Encodings of the server, and settings of the session that must not change what arrives."""

from __future__ import annotations

from collections.abc import Iterator

import colonnade
import pytest

from testbed import postgres as pg

KINDS = """select '2024-02-03'::date as d, '2024-02-03 04:05:06.7'::timestamp as ts,
    '2024-02-03 04:05:06+00'::timestamptz as tz, '1 year -2 days 03:04:05'::interval as i, 0.1::float4 as f4,
    1/3.0::float8 as f8, '\\x00ff'::bytea as b, 1234.5::money as m,
    tsrange('2024-02-03', '2024-02-04') as range, point(0.1, 1/3.0::float8) as p, '01:02:03+04'::timetz as tt,
    array['2024-02-03 04:05:06+00'::timestamptz] as a, xmlparse(content '<a/>') as x, 12345.678::numeric as n,
    '2024-02-03 04:05:06+00'::timestamptz as as_text, '1 year -2 days'::interval as interval_text"""
TEXTS = ["as_text", "interval_text"]


@pytest.fixture(scope="module")
def postgres(either: pg.Cluster) -> pg.Cluster:
    return either


@pytest.mark.parametrize(
    "settings",
    [
        "-c datestyle=sql,dmy",
        "-c datestyle=german",
        "-c datestyle=postgres,ymd",
        "-c intervalstyle=iso_8601",
        "-c intervalstyle=sql_standard",
        "-c extra_float_digits=-15",
        "-c bytea_output=escape",
        "-c xmloption=document -c lc_numeric=C",
        "-c jit=on -c jit_above_cost=0 -c jit_inline_above_cost=0",
    ],
)
def test_a_sessions_styles_change_nothing(postgres: pg.Cluster, settings: str) -> None:
    tables = []
    for options in ("-c timezone=UTC", f"-c timezone=UTC {settings}"):
        with colonnade.connect(postgres.uri(options=options)) as connection:
            before = connection.query("select name, setting from pg_settings order by name").to_arrow()
            tables.append(connection.query(KINDS, as_text=TEXTS).to_arrow())
            assert connection.query("select name, setting from pg_settings order by name").to_arrow() == before
    assert tables[0].equals(tables[1], check_metadata=True)
    [row] = tables[0].to_pylist()
    assert row["as_text"] == "2024-02-03 04:05:06+00"
    assert row["range"] == '["2024-02-03 00:00:00","2024-02-04 00:00:00")'
    assert row["p"] == "(0.1,0.3333333333333333)"


def test_styles_come_back_after_an_error(postgres: pg.Cluster) -> None:
    with colonnade.connect(postgres.uri(options="-c datestyle=german -c extra_float_digits=-15")) as connection:
        query = "select tsrange('2024-02-03', null) as r, 1 / (i - 70000) as q from generate_series(1, 80000) i"
        with pytest.raises(colonnade.DataError, match="division by zero"):
            connection.query(query).to_arrow()
        shown = "select current_setting('datestyle') as d, current_setting('extra_float_digits') as f"
        assert connection.query(shown).to_arrow().to_pylist() == [{"d": "German, DMY", "f": "-15"}]


@pytest.mark.parametrize("array_nulls", ["on", "off"])
@pytest.mark.parametrize("values", [["NULL", None, 'a"\\'], [None, None], [b"NULL", None, b"\0\xff"]])
def test_null_in_a_list_is_null(postgres: pg.Cluster, array_nulls: str, values: list[object]) -> None:
    """With array_nulls off, an array's text cannot have it."""
    with colonnade.connect(postgres.uri(options=f"-c array_nulls={array_nulls}")) as connection:
        for _ in range(2):
            assert connection.query("select $1 as a", [values]).to_arrow().column("a").to_pylist() == [values]
        cut = "select count(*) as n from unnest($1) as u(v) where v is null"
        assert connection.query(cut, [values]).to_arrow().to_pylist() == [{"n": values.count(None)}]
        nested = connection.query("select cardinality($1) as n, ($1)[2][1] is null as x", [[values, values[::-1]]])
        assert nested.to_arrow().to_pylist() == [{"n": 2 * len(values), "x": values[-1] is None}]


def test_the_time_zone_says_how_text_is_shown_only(postgres: pg.Cluster) -> None:
    with colonnade.connect(postgres.uri(options="-c timezone=Asia/Kolkata")) as connection:
        table = connection.query("select '2024-01-01 00:00+00'::timestamptz as t").to_arrow()
        assert str(table.schema.field("t").type) == "timestamp[us, tz=UTC]"
        assert table.column("t").cast("int64").to_pylist() == [1704067200000000]


def test_the_moneys_digits_are_the_locales(postgres: pg.Cluster) -> None:
    with colonnade.connect(postgres.uri()) as connection:
        assert str(connection.query("select 1::money as m").to_arrow().schema.field("m").type) == "decimal128(19, 2)"


# --- encodings --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["extension", "stock"])
def latin(request: pytest.FixtureRequest, installation: pg.Installation) -> Iterator[pg.Cluster]:
    """A cluster with databases in several encodings."""
    extended = request.param == "extension"
    with pg.cluster(installation if extended else pg.stock(), encoding="SQL_ASCII") as running:
        with running.connect() as session:
            for encoding in ("LATIN1", "EUC_JP", "SQL_ASCII"):
                name = encoding.lower()
                session.execute(f"create database {name} template template0 encoding '{encoding}' locale 'C'")
                if extended:
                    with running.connect(name) as inside:
                        inside.execute("create extension colonnade")
        yield running


@pytest.mark.parametrize(("database", "text"), [("latin1", "käse ÿ"), ("euc_jp", "漢字かな"), ("sql_ascii", "plain")])
def test_other_encodings_arrive_as_utf8(latin: pg.Cluster, database: str, text: str) -> None:
    with colonnade.connect(latin.uri(database)) as connection:
        connection.execute(
            f"""create table t ("{text}" text, e text, j json, a text[], v varchar(9), c char(9), x xml)"""
        )
        row = [text, "", f'{{"k": "{text}"}}', [text, None], text, text]
        insert = "insert into t values ($1, $2, $3, $4, $5, $6, ('<a>' || $1 || '</a>')::xml)"
        connection.execute(insert, row)
        table = connection.query("select *, repeat(v, 5000) as long from t").to_arrow()
        connection.execute(f"create type mood as enum ('{text}', 'ok')")
        moods = connection.query(f"select unnest(enum_range(null::mood)) as m, row(1, '{text}') as r").to_arrow()
        connection.execute("drop table t; drop type mood")
    assert table.column_names[0] == text
    [found] = table.to_pylist()
    padded = text.ljust(9)
    assert list(found.values()) == [*row[:5], padded, f"<a>{text}</a>", text * 5000]
    assert moods.column("m").to_pylist() == [text, "ok"]
    assert moods.column("r").to_pylist()[0] in (f"(1,{text})", f'(1,"{text}")')


def test_bytes_that_are_no_text_are_refused_by_name(latin: pg.Cluster) -> None:
    """A database in SQL_ASCII keeps any bytes; they are not passed on as UTF-8 unless they are."""
    with colonnade.connect(latin.uri("sql_ascii")) as connection:
        connection.execute(r"create table t (good text, bad text); insert into t values ('käse', E'\xff\xfe')")
        assert connection.query("select good from t").to_arrow().to_pylist() == [{"good": "käse"}]
        with pytest.raises(colonnade.DataError) as caught:
            connection.query("select * from t").to_arrow()
        assert caught.value.sqlstate == "22021"
        assert connection.query("select bad::bytea as b from t").to_arrow().to_pylist() == [{"b": b"\xff\xfe"}]
        connection.execute("drop table t")


def test_a_client_that_asks_for_another_encoding_gets_utf8(postgres: pg.Cluster) -> None:
    with colonnade.connect(postgres.uri()) as connection:
        connection.execute("set client_encoding to latin1")
        assert connection.query("select chr(28450) as t").to_arrow().to_pylist() == [{"t": "漢"}]


def test_a_transaction_that_can_be_tried_again_is_an_operational_error(postgres: pg.Cluster) -> None:
    """As in other drivers of PostgreSQL: serialization failures, deadlocks, and conflicts with recovery."""
    with postgres.prepared("create table counted (n int); insert into counted values (0)", "drop table counted"):
        uri = postgres.uri(options="-c default_transaction_isolation=serializable")
        with colonnade.connect(uri) as one, colonnade.connect(uri) as other:
            one.execute("begin")
            assert one.query("select n from counted").to_arrow().to_pylist() == [{"n": 0}]
            other.execute("update counted set n = n + 1")
            with pytest.raises(colonnade.OperationalError) as caught:
                one.execute("update counted set n = n + 1")
            assert caught.value.sqlstate == "40001"
            one.execute("rollback")
