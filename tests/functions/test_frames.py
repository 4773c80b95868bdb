"""Columns of pandas, polars and pyarrow as results: each value is exact."""

from __future__ import annotations

from decimal import Decimal

import psycopg
import pytest

from tests.functions.sessions import rows, server_of

server = server_of(())


@pytest.mark.parametrize(
    "column",
    [
        "import pandas; return pandas.Series([2**60 + 1, None, -1], dtype='Int64')",
        "import pandas; return pandas.Series([2**60 + 1, None, -1], dtype='int64[pyarrow]')",
        "import pandas; return pandas.Index([2**60 + 1, None, -1], dtype='Int64')",
        "import pandas; return pandas.Categorical.from_codes([0, -1, 1], [2**60 + 1, -1])",
        "import pandas; return pandas.Series(pandas.Categorical.from_codes([0, -1, 1], [2**60 + 1, -1]))",
        "import polars; return polars.Series([2**60 + 1, None, -1])",
        "import pyarrow; return pyarrow.array([2**60 + 1, None, -1])",
        "return numpy.ma.masked_array([2**60 + 1, 0, -1], [False, True, False])",
        "return [2**60 + 1, None, -1]",
    ],
)
def test_integers_with_nulls_are_exact(session: psycopg.Connection, column: str) -> None:
    """Whatever holds them: as floats, 2**60 + 1 would be 2**60."""
    with session.transaction(force_rollback=True):
        for name, returns, body in (
            ("one", "BIGINT", f"def column():\n    {column}\nreturn column()"),
            ("declared", "TABLE(x BIGINT)", f"def column():\n    {column}\nreturn {{'x': column()}}"),
            ("decided", "TABLE(*)", f"def column():\n    {column}\nreturn {{'x': column()}}"),
        ):
            session.execute(
                f"CREATE FUNCTION {name}(i BIGINT) RETURNS {returns} LANGUAGE PYTHON AS $$\n{body}\n$$".encode()
            )
        expected = [(2**60 + 1, "BIGINT"), (None, "BIGINT"), (-1, "BIGINT")]
        assert rows(session, "SELECT x, typeof(x) FROM (SELECT one(i) AS x FROM range(3) t(i))") == expected
        for name in ("declared", "decided"):
            assert rows(session, f"SELECT x, typeof(x) FROM {name}((FROM range(3)))") == expected


@pytest.mark.parametrize(
    ("type_", "column", "expected"),
    [
        ("HUGEINT", "import polars; return polars.Series([2**70, 1], dtype=polars.Int128)", [2**70, 1]),
        (
            "BIGINT[]",
            "import pandas, pyarrow; lists = pandas.ArrowDtype(pyarrow.list_(pyarrow.int64()))\n"
            "return pandas.Series([[2**60 + 1, None], None], dtype=lists)",
            [[2**60 + 1, None], None],
        ),
        (
            "DECIMAL(30,2)",
            "import decimal, pandas, pyarrow; decimals = pandas.ArrowDtype(pyarrow.decimal128(30, 2))\n"
            "return pandas.Series([decimal.Decimal('12345678901234567890.12'), None], dtype=decimals)",
            [Decimal("12345678901234567890.12"), None],
        ),
        ("DOUBLE", "import pandas; return pandas.Series([1.5, None], dtype='float64[pyarrow]')", [1.5, None]),
        # What pyarrow's `to_pylist` gives.
        ("HUGEINT", "import decimal; return [decimal.Decimal(2**126), decimal.Decimal('1E2')]", [2**126, 100]),
        ("MAP(VARCHAR, INTEGER)", "return [[('a', 1), ('b', None)], []]", ["{a=1, b=NULL}", "{}"]),
    ],
)
def test_other_columns_of_frames(session: psycopg.Connection, type_: str, column: str, expected: list[object]) -> None:
    with session.transaction(force_rollback=True):
        session.execute(
            f"CREATE FUNCTION one(i BIGINT) RETURNS {type_} LANGUAGE PYTHON_MAP AS $$\n{column}\n$$".encode()
        )
        shown = "one(i)::VARCHAR" if type_.startswith("MAP") else "one(i)"
        assert [found for (found,) in rows(session, f"SELECT {shown} FROM range(2) t(i)")] == expected


@pytest.mark.parametrize(
    ("type_", "value", "sqlstate"),
    [
        ("HUGEINT", "decimal.Decimal('1.5')", "22003"),
        ("HUGEINT", "decimal.Decimal('1E1000000000')", "22003"),
        ("HUGEINT", "decimal.Decimal('NaN')", "22004"),
        ("MAP(VARCHAR, INTEGER)", "[('a', 1), ('a', 2)]", "22023"),
        ("MAP(VARCHAR, INTEGER)", "[('a', 1, 2)]", "39000"),
        ("MAP(VARCHAR, INTEGER)", "['ab']", "39000"),
        ("MAP(INTEGER[], INTEGER)", "[([1], 2)]", "39000"),
    ],
)
def test_decimals_and_pairs_that_are_refused(
    session: psycopg.Connection, type_: str, value: str, sqlstate: str
) -> None:
    with session.transaction(force_rollback=True):
        body = f"import decimal; return [None, {value}]"
        session.execute(f"CREATE FUNCTION one(i BIGINT) RETURNS {type_} LANGUAGE PYTHON_MAP AS $$ {body} $$".encode())
        with pytest.raises(psycopg.Error, match=r"^row 2: ") as caught:
            session.execute("SELECT one(i) FROM range(2) t(i)")
        assert caught.value.sqlstate == sqlstate


def test_frames_that_are_no_column_and_no_table(session: psycopg.Connection) -> None:
    for returns, body, text in (
        ("BIGINT", "return pandas.DataFrame({'a': i, 'b': i})", "2 dimensions"),
        ("TABLE(*)", "return pandas.DataFrame([[1, 2]], columns=['a', 'a'])", 'the column "a" twice'),
        ("TABLE(*)", "return pandas.DataFrame()", "no columns"),
        ("TABLE(*)", "return {'': [1]}", "a column with the name ''"),
        ("TABLE(*)", "return {'a\\0': [1]}", "a column with the name 'a"),
        ("TABLE(a BIGINT)", "return pandas.DataFrame([[1, 2]], columns=['a', 'a'])", 'the column "a" twice'),
        ('TABLE("1" BIGINT)', "return {1: [2], '1': [3]}", 'the column "1" twice'),
        ("TABLE(a BIGINT)", "return {1: [2]}", 'no column "a"; it has 1'),
    ):
        with session.transaction(force_rollback=True):
            source = f"import pandas; {body}"
            session.execute(
                f"CREATE FUNCTION one(i BIGINT) RETURNS {returns} LANGUAGE PYTHON AS $$ {source} $$".encode()
            )
            query = "FROM one((FROM range(2)))" if returns.startswith("TABLE") else "SELECT one(i) FROM range(2) t(i)"
            with pytest.raises(psycopg.Error, match=text) as caught:
                session.execute(query.encode())
            assert caught.value.sqlstate == "39000"


def test_columns_that_are_read_once_and_names_that_are_numbers(session: psycopg.Connection) -> None:
    for returns, body, expected in (
        ("TABLE(*)", "return {'a': iter([1, 2])}", [(1,), (2,)]),
        ("TABLE(a BIGINT, b BIGINT)", "return {'a': map(int, '12'), 'b': 3}", [(1, 3), (2, 3)]),
        ("TABLE(a BIGINT, b BIGINT)", "return (x for x in (1, 2)), [3, 4]", [(1, 3), (2, 4)]),
        ('TABLE("1" BIGINT)', "import pandas; return pandas.DataFrame({1: [5]})", [(5,)]),
    ):
        with session.transaction(force_rollback=True):
            session.execute(f"CREATE FUNCTION one() RETURNS {returns} LANGUAGE PYTHON AS $$\n{body}\n$$".encode())
            assert rows(session, "FROM one()") == expected


@pytest.mark.parametrize("column", ["['x', None]", "pandas.Series(['x', None], dtype=object)", "['x', float('nan')]"])
def test_texts_of_pandas_with_nulls(session: psycopg.Connection, column: str) -> None:
    """pandas has NaN for NULL there, which is no text."""
    with session.transaction(force_rollback=True):
        body = f"import pandas; return pandas.DataFrame({{'a': {column}, 'b': [1.5, None]}})"
        session.execute(f"CREATE FUNCTION one() RETURNS TABLE(*) LANGUAGE PYTHON AS $$ {body} $$".encode())
        assert rows(session, "FROM one()") == [("x", 1.5), (None, None)]
