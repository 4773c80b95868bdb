"""Encodings of the server, and settings of the session that must not change what arrives."""

from __future__ import annotations

from collections.abc import Iterator

import colonnade
import pytest

from tests.testbed import postgres as pg

#: Columns whose values do not depend on the session, and others that arrive as text.
KINDS = """select '2024-02-03'::date as d, '2024-02-03 04:05:06.7'::timestamp as ts,
    '2024-02-03 04:05:06+00'::timestamptz as tz, '1 year -2 days 03:04:05'::interval as i, 0.1::float4 as f4,
    1/3.0::float8 as f8, '\\x00ff'::bytea as b, 1234.5::money as m, '01:02:03+04'::timetz as tt,
    array['2024-02-03 04:05:06+00'::timestamptz] as a, xmlparse(content '<a/>') as x, 12345.678::numeric as n"""
TEXTS = """select tsrange('2024-02-03', '2024-02-04') as range, '2024-02-03 04:05:06+00'::timestamptz as moment,
    '1 year -2 days'::interval as span, '\\x00ff'::bytea as bytes, '::1'::inet as address"""
POINT = "select point(0.1, 1/3.0::float8) as p"
AS_TEXT = ["moment", "span", "bytes"]
STYLES = [
    "-c datestyle=sql,dmy",
    "-c datestyle=german",
    "-c datestyle=postgres,ymd",
    "-c intervalstyle=iso_8601",
    "-c intervalstyle=sql_standard",
    "-c intervalstyle=postgres_verbose",
    "-c extra_float_digits=-15",
    "-c bytea_output=escape",
]


@pytest.fixture(scope="module")
def postgres(either: pg.Cluster) -> pg.Cluster:
    return either


@pytest.mark.parametrize(
    "settings",
    [*STYLES, "-c xmloption=document -c lc_numeric=C", "-c jit=on -c jit_above_cost=0 -c jit_inline_above_cost=0"],
)
def test_a_sessions_settings_change_no_value_and_stay(postgres: pg.Cluster, settings: str) -> None:
    tables = []
    for options in ("-c timezone=UTC", f"-c timezone=UTC {settings}"):
        with colonnade.connect(postgres.uri(options=options)) as connection:
            before = connection.query("select name, setting from pg_settings order by name").to_arrow()
            tables.append(connection.query(KINDS).to_arrow())
            connection.query(TEXTS, as_text=AS_TEXT).to_arrow()
            assert connection.query("select name, setting from pg_settings order by name").to_arrow() == before
    assert tables[0].equals(tables[1], check_metadata=True)


@pytest.mark.parametrize("settings", STYLES)
def test_the_extension_writes_text_in_one_style(extended: pg.Cluster, settings: str) -> None:
    with colonnade.connect(extended.uri(options=f"-c timezone=UTC {settings}")) as connection:
        [row] = connection.query(TEXTS, as_text=AS_TEXT).to_arrow().to_pylist()
        assert row == {
            "range": '["2024-02-03 00:00:00","2024-02-04 00:00:00")',
            "moment": "2024-02-03 04:05:06+00",
            "span": "1 year -2 days",
            "bytes": "\\x00ff",
            "address": "::1",
        }
        assert connection.query(POINT).to_arrow().to_pylist() == [{"p": "(0.1,0.3333333333333333)"}]


@pytest.mark.parametrize("settings", STYLES)
def test_without_the_extension_text_is_what_the_session_shows(stock: pg.Cluster, settings: str) -> None:
    with colonnade.connect(stock.uri(options=f"-c timezone=UTC {settings}")) as connection:
        arrived = connection.query(TEXTS, as_text=AS_TEXT).to_arrow().to_pylist()
        shown = ", ".join(f"format('%s', {name}) as {name}" for name in arrived[0])
        assert arrived == connection.query(f"select {shown} from ({TEXTS}) as t").to_arrow().to_pylist()


@pytest.mark.parametrize(
    "query", [POINT, "select 0.1::float8 as p", "select row('::1'::inet, 0.1::float8)::mixed as p"]
)
def test_floats_that_a_session_rounds_are_refused_in_text(stock: pg.Cluster, query: str) -> None:
    as_text = ["p"] if "float8 as p" in query else []
    with (
        stock.prepared("create type mixed as (address inet, f float8)", "drop type mixed"),
        colonnade.connect(stock.uri(options="-c extra_float_digits=0")) as connection,
    ):
        with pytest.raises(colonnade.NotSupportedError, match=r'"p.*floats that extra_float_digits rounds') as caught:
            connection.query(query, as_text=as_text)
        assert caught.value.hint is not None and "set extra_float_digits to 3" in caught.value.hint
        connection.execute("set extra_float_digits to 3")
        [row] = connection.query(query, as_text=as_text).to_arrow().to_pylist()
        assert "0.1" in str(row["p"])


@pytest.mark.parametrize("style", ["sql", "german", "postgres"])
@pytest.mark.parametrize("type_", ["date", "timestamp", "timestamptz"])
def test_dates_in_other_styles_are_refused_in_text(stock: pg.Cluster, style: str, type_: str) -> None:
    query = f"select row('::1'::inet, '2024-01-02'::{type_})::mixed as p"
    with (
        stock.prepared(f"create type mixed as (address inet, d {type_})", "drop type mixed"),
        colonnade.connect(stock.uri(options=f"-c datestyle={style} -c timezone=UTC")) as connection,
    ):
        with pytest.raises(colonnade.NotSupportedError, match=r'column "p\.d": .* as text in DateStyle') as caught:
            connection.query(query)
        assert caught.value.hint is not None and "set DateStyle to ISO" in caught.value.hint
        connection.execute("set datestyle to iso")
        assert str(connection.query(query).to_arrow().to_pylist()[0]["p"]["d"]).startswith("2024-01-02")


@pytest.mark.parametrize(
    "span", ["0", "1 year -2 days 03:04:05.6", "-1 day -2 hours", "-14 months", "3 days 0.5 s", "-1 year 1 us", "1 mon"]
)
@pytest.mark.parametrize("style", ["postgres", "postgres_verbose", "sql_standard", "iso_8601"])
def test_intervals_in_all_styles_are_read_from_text(stock: pg.Cluster, style: str, span: str) -> None:
    query = "select row('::1'::inet, $1::text::interval, '\\x5c00ff'::bytea)::mixed as p, $1::text::interval as i"
    with (
        stock.prepared("create type mixed as (address inet, i interval, b bytea)", "drop type mixed"),
        colonnade.connect(stock.uri(options=f"-c intervalstyle={style} -c bytea_output=escape")) as connection,
    ):
        [row] = connection.query(query, [span]).to_arrow().to_pylist()
        assert row["p"] == {"address": "::1", "i": row["i"], "b": b"\\\0\xff"}


def test_a_column_as_text_leaves_the_others_and_the_conditions_alone(postgres: pg.Cluster) -> None:
    with colonnade.connect(postgres.uri(options="-c intervalstyle=sql_standard -c datestyle=sql,dmy")) as connection:
        for beside in ("", ", point(1, 2) as p", ", '::1'::inet as x"):
            span = f"select extract(epoch from txt::interval)::int8 as s{beside} from (values ('-1 2:03:04')) v(txt)"
            assert connection.query(span).to_arrow().to_pylist()[0]["s"] == -93784
            found = f"select 1 as one{beside} from (values (date '2024-01-31')) v(d) where d::text = '31/01/2024'"
            assert connection.query(found).to_arrow().num_rows == 1
            literal = f"select '-1 2:00:00'::interval as i{beside}"
            [row] = connection.query(literal).to_arrow().to_pylist()
            assert (row["i"].days, row["i"].nanoseconds) == (-1, -7200 * 10**9)


def test_an_error_in_a_result_with_text_changes_no_setting(postgres: pg.Cluster) -> None:
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
        # Without the extension, the error is the server's own.
        assert caught.value.message.startswith(('column "bad": ', "invalid byte sequence"))
        assert "convert_to(COLUMN, 'SQL_ASCII')" in (caught.value.hint or "")
        bytes_of = connection.query("select convert_to(bad, 'SQL_ASCII') as b from t").to_arrow()
        assert bytes_of.to_pylist() == [{"b": b"\xff\xfe"}]
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
