"""`scan_sql`: databases that compare in other ways than polars give the same rows as polars alone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import colonnade
import polars as pl
from polars.testing import assert_frame_equal

from tests.support.sqlite_files import make
from tests.testbed import mariadb
from tests.testbed import postgres as pg


def compare(uri: str, query: str, *predicates: pl.Expr, key: str = "k") -> None:
    lazy = colonnade.scan_sql(uri, query)
    whole = colonnade.read_sql(uri, query, return_type="polars")
    for predicate in predicates:
        found = lazy.filter(predicate).collect()
        assert_frame_equal(found.sort(key), whole.filter(predicate).sort(key))


def of_texts(*columns: str) -> Iterator[pl.Expr]:
    for name in columns:
        for text in ("a", "A", "a ", "a  ", "", "ä", "b", "it's", "\\", "\0"):
            yield pl.col(name) == text
            yield ~(pl.col(name) == text)
            yield pl.col(name) != text
            yield pl.col(name) < text
            yield pl.col(name).is_in([text, "zz"])
            yield ~pl.col(name).is_in([text])


def test_collations_years_and_unsigned_numbers_of_mariadb(maria: mariadb.Server) -> None:
    with colonnade.connect(maria.uri()) as connection:
        connection.execute(
            "create table scanned (k int, c varchar(10) collate utf8mb4_general_ci, l varchar(10) character set latin1,"
            " f char(4), y year, u bigint unsigned, s tinyint unsigned, d date, b bit(3), j json, id uuid)"
        )
        try:
            texts = ["a", "A", "a ", "ä", "b", "", "it's", "\\"]
            for number, text in enumerate(texts):
                connection.execute(
                    "insert into scanned values ($1, $2, $2, $2, $3, $4, $5, $6, 5, '{\"a\": 1}', uuid())",
                    [number, text, 2000 + 10 * number, 2**64 - 1 - number, 255 - number, dt.date(2020, 1, 1 + number)],
                )
            connection.execute("insert into scanned (k) values (99)")
            integers = [
                getattr(pl.col(name), operator)(value)
                for name in ("y", "u", "s", "k")
                for value in (0, 20, 70, 250, 2020, 2**64 - 3)
                for operator in ("__eq__", "__gt__", "__le__", "__ne__")
                if name == "u" or value < 300 or (name == "y" and value < 2**16)
            ]
            dates = [pl.col("d") > dt.date(2020, 1, 3), ~(pl.col("d") == dt.date(2020, 1, 3)), pl.col("y").is_null()]
            others = [pl.col("j") == '{"a": 1}', pl.col("id") == "no uuid", pl.col("id").is_null()]
            compare(maria.uri(), "select * from scanned", *of_texts("c", "l", "f"), *integers, *dates, *others)
        finally:
            connection.execute("drop table scanned")


def test_types_of_sqlite_that_are_not_those_of_its_values(tmp_path: Path) -> None:
    script = (
        "create table t (k INTEGER, i INTEGER, n TEXT COLLATE NOCASE, f CHAR(4), r REAL, d DATE, b BOOLEAN,"
        " m DECIMAL(10,2), x);"
        "insert into t values (1, 5, 'a', 'a', 1.5, '2020-01-01', 1, 1.5, 5),"
        " (2, -7, 'A', 'a ', 2, '2020-01-02', 0, 2, 7.5), (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),"
        " (4, 9223372036854775807, 'b', 'it''s', 3, '2021-01-01', 1, -3.25, 2)"
    )
    uri = make(tmp_path / "t.sqlite", script)
    numbers = [pl.col(name) > value for name in ("i", "r", "x", "m") for value in (0, 1, 5)]
    others = [
        pl.col("b"),
        ~pl.col("b"),
        pl.col("d") > dt.date(2020, 1, 1),
        pl.col("x").is_null(),
        pl.col("x") == 2,
        pl.col("m") == Decimal("1.5"),
    ]
    compare(uri, "select * from t", *of_texts("n", "f"), *numbers, *others)
    compare(uri, "select k, i + 1 as i, count(*) as n from t group by k, i", pl.col("n") == 1, pl.col("i") > 0)
    # An unknown name in double quotes would be a text.
    lazy = colonnade.scan_sql(uri, 'select k as "select", i as "a.b", n as "it\'s" from t')
    assert lazy.filter(pl.col("a.b") == 5).select("it's").collect().rows() == [("a",)]


def test_types_of_postgresql_that_are_not_text(stock: pg.Cluster) -> None:
    with colonnade.connect(stock.uri()) as connection:
        connection.execute("create extension if not exists citext")
        connection.execute("create type scanned_mood as enum ('sad', 'ok')")
        try:
            connection.execute(
                "create table scanned (k int, t text, f char(4), c citext, v varchar(4), id uuid, j jsonb,"
                " m scanned_mood, o oid, n numeric, p numeric(10, 2), s timestamp, z timestamptz, d date, i inet,"
                " a int[])"
            )
            for number, text in enumerate(["a", "A", "a ", "", "ä", "b", "it's", "\\"]):
                connection.execute(
                    "insert into scanned values ($1, $2, $2, $2, $2, gen_random_uuid(), '{\"a\": 1}', 'ok',"
                    " $1 + 3000000000, $3, $3, $4, $5, $6, '10.0.0.1', array[1])",
                    [
                        number,
                        text,
                        Decimal("1.25") * number,
                        dt.datetime(2020, 1, 1, 0, 0, number, 500000),
                        dt.datetime(2020, 1, 1, 0, 0, number, tzinfo=dt.UTC),
                        dt.date(2020, 1, 1 + number),
                    ],
                )
            connection.execute("insert into scanned (k) values (98)")
            connection.execute("insert into scanned (k, s, z, d) values (99, 'infinity', '-infinity', 'infinity')")
            predicates = [
                *of_texts("t", "f", "c", "v"),
                pl.col("id") == "no uuid",
                pl.col("j") == '{"a": 1}',
                pl.col("m") == "ok",
                pl.col("i") == "10.0.0.1",
                pl.col("n") == "1.25",
                pl.col("o") > 5,
                pl.col("p") > 2,
                pl.col("p") > Decimal("2.5"),
                pl.col("p") > 2.5,
                pl.col("p").is_in([Decimal("1.25"), Decimal("2.50")]),
                pl.col("s") > dt.datetime(2020, 1, 1, 0, 0, 2),
                pl.col("s") < dt.datetime(2020, 1, 1, 0, 0, 2, 500000),
                pl.col("s") > dt.date(2020, 1, 1),
                pl.col("z") >= dt.datetime(2020, 1, 1, 0, 0, 2, tzinfo=dt.UTC),
                pl.col("z") < dt.datetime(2020, 1, 1, 0, 0, 2, tzinfo=dt.UTC),
                pl.col("d") > dt.date(2020, 1, 2),
                ~(pl.col("d") > dt.date(2020, 1, 2)),
                pl.col("a").is_null(),
            ]
            compare(stock.uri(), "select * from scanned", *predicates)
        finally:
            connection.execute("drop table if exists scanned")
            connection.execute("drop type scanned_mood")
