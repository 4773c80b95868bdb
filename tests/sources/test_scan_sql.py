"""`scan_sql`: what the database does of a lazy frame's plan gives the same rows as polars alone."""

from __future__ import annotations

import datetime as dt
import gc
from decimal import Decimal
from functools import reduce
from operator import and_, or_
from pathlib import Path
from typing import Any, Literal

import colonnade
import duckdb
import polars as pl
import pytest
from colonnade._lazy import scan as scanning
from colonnade._lazy.predicate import translated
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from tests.sources.every_source import ROWS, Source
from tests.support.raw_client import wait_until
from tests.support.sqlite_files import make
from tests.testbed import postgres as pg

ENGINES: tuple[Literal["in-memory", "streaming"], ...] = ("in-memory", "streaming")
#: What the database is asked, in order.
Sent = list[str]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """The queries that scans send."""
    texts: Sent = []
    real = colonnade.Connection.query

    def query(self: colonnade.Connection, sql: str, params: Any = None, **options: Any) -> colonnade.Result:
        texts.append(" ".join(sql.split()))
        return real(self, sql, params, **options)

    monkeypatch.setattr(colonnade.Connection, "query", query)
    return texts


def pushes(source: Source) -> bool:
    return not source.uri.startswith(("adbc", "odbc"))


#: pyarrow writes the description of the driver's own type in another way.
opaque = pytest.mark.gap("adbc-postgresql", error=AssertionError, match="arrow.opaque")

# --- every type -------------------------------------------------------------------------------------------------------


@opaque
def test_a_scan_is_the_query(source: Source) -> None:
    query = "select id, word, price from readings order by id"
    lazy = colonnade.scan_sql(source.uri, query)
    expected = colonnade.read_sql(source.uri, query, return_type="polars")
    assert lazy.collect_schema() == expected.schema
    for engine in ENGINES:
        assert_frame_equal(lazy.collect(engine=engine), expected)
    # It can be collected again, and each time the table is read.
    assert_frame_equal(lazy.select("word", "id").collect(), expected.select("word", "id"))
    assert lazy.select(pl.len()).collect().item() == ROWS


@pytest.fixture(scope="session")
def whole(source: Source) -> pl.DataFrame:
    """The table with every type, read by polars alone."""
    return colonnade.read_sql(source.uri, "select * from every_type", return_type="polars").sort("k")


def lazy_of(source: Source) -> pl.LazyFrame:
    return colonnade.scan_sql(source.uri, "select * from every_type")


@opaque
def test_every_type_is_announced(source: Source, whole: pl.DataFrame) -> None:
    lazy = lazy_of(source)
    assert lazy.collect_schema() == whole.schema
    assert_frame_equal(lazy.sort("k").collect(), whole)


def literals(frame: pl.DataFrame, name: str) -> list[Any]:
    return frame[name].unique().drop_nulls().to_list()


@st.composite
def predicates(draw: st.DrawFn, frame: pl.DataFrame) -> pl.Expr:
    """A predicate over the columns of a frame, with literals that occur in them and some that do not."""

    def atom() -> pl.Expr:
        name = draw(st.sampled_from(frame.columns))
        column, kind = pl.col(name), frame.schema[name]
        forms = ["null", "not null"]
        values = literals(frame, name)
        if kind.is_integer():
            values += [0, 5, -1, 2**40, 2**63 - 1]
        if values and not isinstance(kind, (pl.List, pl.Struct, pl.Binary)):
            forms += ["compared", "compared", "compared", "in", "between"]
        if kind == pl.Boolean:
            forms += ["itself"]
        literal = st.sampled_from(values) if values else st.nothing()
        match draw(st.sampled_from(forms)):
            case "null":
                return column.is_null()
            case "not null":
                return column.is_not_null()
            case "itself":
                return column
            case "in":
                return column.is_in(draw(st.lists(literal | st.none() if draw(st.booleans()) else literal, max_size=3)))
            case "between":
                closed = draw(st.sampled_from(["both", "left", "right", "none"]))
                return column.is_between(draw(literal), draw(literal), closed)
        operator = draw(st.sampled_from(["__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"]))
        if draw(st.booleans()):
            return getattr(column, operator)(draw(literal))
        return getattr(pl.lit(draw(literal)), operator)(column)

    def tree(depth: int) -> pl.Expr:
        if depth == 0:
            return atom()
        match draw(st.sampled_from(["atom", "and", "or", "not"])):
            case "and":
                return tree(depth - 1) & tree(depth - 1)
            case "or":
                return tree(depth - 1) | tree(depth - 1)
            case "not":
                return ~tree(depth - 1)
        return atom()

    return tree(3)


@pytest.mark.lack("adbc-postgresql", reason="the same, if the column is drawn")
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_filter_gives_the_rows_that_polars_gives(source: Source, whole: pl.DataFrame, data: st.DataObject) -> None:
    predicate = data.draw(predicates(whole))
    columns = data.draw(st.lists(st.sampled_from(whole.columns), min_size=1, max_size=4, unique=True))
    try:
        expected = whole.filter(predicate)
    except pl.exceptions.PolarsError:
        # polars itself has no such comparison.
        return
    columns = ["k", *(name for name in columns if name != "k")]
    found = lazy_of(source).filter(predicate).select(columns).collect(engine=data.draw(st.sampled_from(ENGINES)))
    assert_frame_equal(found.sort("k"), expected.select(columns))


# --- what the database does -------------------------------------------------------------------------------------------


def test_the_database_chooses_columns_and_rows(source: Source, sent: Sent) -> None:
    lazy = colonnade.scan_sql(source.uri, "select * from readings")
    sent.clear()
    found = lazy.filter(pl.col("id") <= 3, pl.col("word").str.ends_with("2")).select("word").collect()
    assert found.to_dict(as_series=False) == {"word": ["word 2"]}
    if not pushes(source):
        assert sent == ["select * from readings"]
        return
    assert len(sent) == 1
    assert ("WHERE" in sent[0], "<= 3" in sent[0], "price" in sent[0].partition(" FROM ")[0]) == (True, True, False)
    assert "ends" not in sent[0].lower()
    sent.clear()
    assert lazy.head(7).collect().height == 7
    assert sent[0].endswith("LIMIT 7")
    sent.clear()
    assert lazy.filter(pl.col("id") > 5).head(7).collect().height == 7
    assert "LIMIT" not in sent[0]
    sent.clear()
    words = lazy.filter(pl.col("word").is_in(["word 7", "word 8 ", "it's"])).collect()
    assert words["id"].to_list() == [7]
    assert " AS q" in sent[0]
    assert "IN (" in sent[0]


@pytest.mark.parametrize("query", ["select * from readings order by id desc", "select * from readings /* ORDER */"])
def test_a_query_with_an_order_is_sent_as_it_is(source: Source, sent: Sent, query: str) -> None:
    lazy = colonnade.scan_sql(source.uri, query)
    sent.clear()
    found = lazy.filter(pl.col("id") > 2998).select("id").collect()["id"].to_list()
    assert sent == [query]
    assert found == ([3000, 2999] if "desc" in query else [2999, 3000])


def test_a_scan_ends_early(source: Source) -> None:
    if not pushes(source):
        pytest.skip("the driver may run a statement to its end")
    lazy = colonnade.scan_sql(source.uri, f"{source.dialect.endless} /* no order */")
    assert lazy.head(10).collect().height == 10


def test_a_wrong_query_is_an_error_of_the_scan(source: Source) -> None:
    for what, sql in (("syntax", "selec 1"), ("no such table", "select * from no_such_table")):
        kind, sqlstate = source.error(what)
        with pytest.raises(kind) as caught:
            colonnade.scan_sql(source.uri, sql)
        assert caught.value.sqlstate == sqlstate
    with pytest.raises(TypeError, match="nonsense"):
        colonnade.scan_sql(source.uri, "select 1", nonsense=1)  # type: ignore[call-arg]
    with pytest.raises(colonnade.InterfaceError, match="2 columns are called 'a'"):
        colonnade.scan_sql(source.uri, "select 1 as a, 2 as a")


@pytest.mark.gap("odbc", error=colonnade.InterfaceError, match=r"ODBC takes text for each \? in the query")
def test_parameters_and_comments(source: Source) -> None:
    lazy = colonnade.scan_sql(source.uri, "select id, word from readings where id > $1 -- a tail", [2990])
    assert lazy.filter(pl.col("id") < 2993).collect()["id"].to_list() == [2991, 2992]


def test_the_connection_is_closed(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[colonnade.Connection] = []

    def connect(uri: str) -> colonnade.Connection:
        opened.append(colonnade.connect(uri))
        return opened[-1]

    monkeypatch.setattr(scanning, "connect", connect)
    lazy = colonnade.scan_sql(source.uri, "select * from readings /* order */", chunk_rows=100)
    lazy.collect()
    lazy.head(5).collect()
    with pytest.raises(pl.exceptions.PolarsError):
        lazy.select(pl.col("word").str.to_integer(base=2)).collect()
    # After an error of its own, polars drops the reader when it runs the next time.
    lazy.head(5).collect()
    gc.collect()
    # One of its own threads may do so.
    assert len(opened) == 5
    wait_until(lambda: not any(connection.is_open for connection in opened))


SCHEMA = {
    "i": pl.Int32(), "u": pl.UInt16(), "f": pl.Float64(), "s": pl.String(), "b": pl.Boolean(), "d": pl.Date(),
    "t": pl.Datetime("us"), "n": pl.Datetime("ns"), "m": pl.Decimal(10, 2), "h": pl.Decimal(38, 0),
}  # fmt: skip
DATE, MOMENT = dt.date(2020, 1, 1), dt.datetime(2020, 1, 1)


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        (pl.col("i") > pl.lit(5, pl.Int32), "(i > 5)"),
        (pl.lit(5, pl.Int32) > pl.col("i"), "(i < 5)"),
        (pl.col("i") > pl.lit(5, pl.Int64), None),
        (pl.col("i") > pl.col("i"), None),
        (pl.col("i") + 1 > pl.lit(5, pl.Int32), None),
        (pl.col("i").is_in(pl.Series([1, 2], dtype=pl.Int32).implode()), "(i IN (1, 2))"),
        (pl.col("i").is_in(pl.Series([1, None], dtype=pl.Int32).implode()), None),
        (pl.col("i").is_in(pl.Series([1, 2], dtype=pl.Int32).implode(), nulls_equal=True), None),
        (pl.col("i").is_in(pl.Series(range(1001), dtype=pl.Int32).implode()), None),
        (pl.col("s").is_in(pl.Series(map(str, range(1001))).implode()), None),
        (pl.col("b"), "b"),
        (~pl.col("b"), "(NOT b)"),
        (pl.col("d") < DATE, "(d < CAST('2020-01-01' AS DATE))"),
        (pl.col("f") > 5.0, None),
        (pl.col("f").is_null() | pl.col("i").is_not_null(), "((f IS NULL) OR (i IS NOT NULL))"),
        (pl.col("f").is_nan(), None),
        (pl.col("f").is_null() | (pl.col("f") > 5.0), None),
        (pl.col("f").is_null() & (pl.col("f") > 5.0), "((f IS NULL))"),
        (~(pl.col("f").is_null() & (pl.col("f") > 5.0)), None),
        (pl.col("s") == "it's", "(CAST(s AS {text}) IN ('it''s'))"),
        (pl.col("s") == "a ", "(CAST(s AS {text}) IN ('a ', 'a'))"),
        (pl.col("s") != "a", None),
        (pl.col("s") > "a", None),
        (~(pl.col("s") == "a"), None),
        (pl.col("n") > pl.lit(MOMENT, pl.Datetime("ns")), None),
        (pl.col("missing") == 1, None),
    ],
)  # fmt: skip
def test_what_becomes_sql(predicate: pl.Expr, expected: str | None) -> None:
    for dialect, text in (("postgresql", "text"), ("duckdb", "varchar")):
        found = translated(predicate, dialect, SCHEMA, lambda name: name)
        assert found == (None if expected is None else expected.replace("{text}", text))
    assert translated(predicate, "unknown", SCHEMA, lambda name: name) is None


@pytest.mark.parametrize(
    ("predicate", "dialects"),
    [
        (pl.col("i") > pl.lit(5, pl.Int32), {"postgresql", "duckdb", "mysql"}),
        (pl.col("u") > pl.lit(5, pl.UInt16), {"duckdb"}),
        (pl.col("b"), {"postgresql", "duckdb"}),
        (pl.col("d") > DATE, {"postgresql", "duckdb", "mysql"}),
        (pl.col("t") > pl.lit(MOMENT, pl.Datetime("us")), {"postgresql", "duckdb"}),
        (pl.col("m") > pl.lit(Decimal("1.5"), pl.Decimal(10, 2)), {"postgresql", "duckdb", "mysql"}),
        (pl.col("h") > pl.lit(Decimal("1"), pl.Decimal(38, 0)), set[str]()),
        (pl.col("s") == "a", {"postgresql", "duckdb", "mysql", "sqlite"}),
        (pl.col("s").is_null(), {"postgresql", "duckdb", "mysql", "sqlite"}),
    ],
)  # fmt: skip
def test_which_databases_compare(predicate: pl.Expr, dialects: set[str]) -> None:
    every = ("postgresql", "duckdb", "mysql", "sqlite", "unknown")
    found = {dialect for dialect in every if translated(predicate, dialect, SCHEMA, lambda name: name) is not None}
    assert found == dialects


# --- names and statements ---------------------------------------------------------------------------------------------


def test_columns_without_a_name_of_their_own(uri: str) -> None:
    lazy = colonnade.scan_sql(uri, "select count(*), 1 + 1 from range(5)")
    assert lazy.collect_schema().names() == ["count", "?column?"]
    assert lazy.filter(pl.col("count") == 5).select("?column?").collect().rows() == [(2,)]


def test_a_statement_that_cannot_stand_in_from(uri: str, sent: Sent) -> None:
    lazy = colonnade.scan_sql(uri, "show tables")
    sent.clear()
    lazy.filter(pl.col(lazy.collect_schema().names()[0]) == "x").collect()
    assert sent == ["show tables"]


@pytest.mark.parametrize("statement", ["{}", "with made as ({}) select n from made"], ids=["statement", "in a WITH"])
@pytest.mark.parametrize("place", ["uri", "stock", "extended", "maria"])
def test_a_statement_that_writes_is_refused_before_it_runs(
    request: pytest.FixtureRequest, place: str, statement: str
) -> None:
    found = request.getfixturevalue(place)
    uri = found if isinstance(found, str) else found.uri()
    sql = statement.format("insert into not_changed values (1) returning n")
    with colonnade.connect(uri) as connection:
        connection.execute("create table not_changed (n int)")
        try:
            for ask in (colonnade.scan_sql, colonnade.get_meta):
                with pytest.raises(colonnade.Error) as caught:
                    ask(uri, sql)
                # MariaDB has no INSERT in a WITH.
                if place != "maria" or statement == "{}":
                    assert place == "uri" or caught.value.sqlstate == "25006"
                    assert place == "uri" or "read_sql and execute run it" in str(caught.value)
            with pytest.raises(colonnade.Error):
                colonnade.get_meta(connection, sql)
            assert connection.query("select n from not_changed").to_arrow().num_rows == 0
        finally:
            connection.execute("drop table not_changed")


@pytest.mark.parametrize("place", ["uri", "stock", "maria"])
def test_columns_are_found_by_their_names(request: pytest.FixtureRequest, place: str) -> None:
    found = request.getfixturevalue(place)
    uri = found if isinstance(found, str) else found.uri()
    with colonnade.connect(uri) as connection:
        connection.execute("create table moved (a int, b int)")
        try:
            lazy = colonnade.scan_sql(uri, "select * from moved")
            connection.execute("drop table moved")
            connection.execute("create table moved (b int, a int)")
            connection.execute("insert into moved values (1, 2)")
            assert lazy.collect().to_dicts() == [{"a": 2, "b": 1}]
            assert lazy.select("a").collect().to_dicts() == [{"a": 2}]
            assert lazy.filter(pl.col("a") == 2).collect().to_dicts() == [{"a": 2, "b": 1}]
        finally:
            connection.execute("drop table moved")


@pytest.mark.parametrize("place", ["uri", "stock", "maria", "sqlite"])
def test_names_that_differ_only_in_case(request: pytest.FixtureRequest, tmp_path: Path, place: str) -> None:
    found = make(tmp_path / "empty.sqlite", "") if place == "sqlite" else request.getfixturevalue(place)
    quote = "`" if place == "maria" else '"'
    lazy = colonnade.scan_sql(
        found if isinstance(found, str) else found.uri(), f"select 1 as {quote}a{quote}, 2 as {quote}A{quote}"
    )
    assert lazy.select("A").collect().to_dicts() == [{"A": 2}]
    assert lazy.filter(pl.col("A") == 2).collect().to_dicts() == [{"a": 1, "A": 2}]


def test_what_is_no_part_of_a_query_is_an_error(uri: str) -> None:
    with pytest.raises(colonnade.ProgrammingError):
        colonnade.scan_sql(uri, "select 1; select 2")
    with colonnade.connect(uri) as connection:
        connection.execute("create table not_dropped (n int)")
        with pytest.raises(colonnade.Error):
            colonnade.scan_sql(uri, "drop table not_dropped")
        assert connection.query("select count(*) as n from not_dropped").to_arrow()["n"].to_pylist() == [0]
        connection.execute("drop table not_dropped")


def test_duckdb_reads_a_lazy_frame(stock: pg.Cluster, sent: Sent) -> None:
    lazy = colonnade.scan_sql(stock.uri(), "select i, i * i as square, 'x' as t from generate_series(1, 1000) i")
    sent.clear()
    # DuckDB finds it among the local variables.
    assert lazy is not None
    assert duckdb.sql("select square from lazy where i = 7").fetchall() == [(49,)]
    assert all('"t"' not in sql.partition(" FROM ")[0] for sql in sent)
    assert any("= 7" in sql for sql in sent)


def test_a_version_of_polars_that_writes_otherwise(sent: Sent, stock: pg.Cluster, monkeypatch: Any) -> None:
    lazy = colonnade.scan_sql(stock.uri(), "select i from generate_series(1, 10) i")
    for written in (
        "no json",
        '{"New": 1}',
        '{"BinaryExpr": {"left": {"Column": "i"}, "op": "New", "right": {"Literal": 1}}}',
    ):
        monkeypatch.setattr("polars.expr.meta.ExprMetaNameSpace.serialize", lambda *_, text=written, **__: text)
        sent.clear()
        assert lazy.filter(pl.col("i") == 7).collect().rows() == [(7,)]
        assert all("WHERE" not in sql for sql in sent)


def test_many_conditions(stock: pg.Cluster) -> None:
    lazy = colonnade.scan_sql(stock.uri(), "select i from generate_series(1, 100) i")
    for join in (and_, or_):
        predicate = reduce(join, [pl.col("i") != number for number in range(50)])
        expected = pl.DataFrame({"i": range(1, 101)}).filter(predicate).height
        assert lazy.filter(predicate).collect().height == expected


def test_a_polars_that_is_too_old_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uri = make(tmp_path / "a.db", "create table t (i integer)", "t", [(1,)])
    monkeypatch.setattr(pl, "__version__", "1.40.0")
    with pytest.raises(ImportError, match=r"needs polars 2.0 or later, and this is 1.40.0: pip install 'polars>=2'"):
        colonnade.scan_sql(uri, "select i from t")
