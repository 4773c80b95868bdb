"""The limits of each type over the protocol: what arrives, what comes back, and what is refused with which SQLSTATE."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.functions.sessions import connected, serving

#: For each type the smallest and the largest values, as SQL.
EXTREMES = {
    "REAL": ["'nan'", "'inf'", "'-inf'", "3.4028235e38", "1e-45", "'-0'"],
    "DOUBLE": ["'nan'", "1.7976931348623157e308", "5e-324", "'-0'", "'-inf'"],
    "DECIMAL(1,1)": ["0.9", "-0.9"],
    "DECIMAL(4,0)": ["9999", "-9999"],
    "DECIMAL(9,9)": ["0.999999999", "-0.999999999"],
    "DECIMAL(18,0)": ["999999999999999999", "-999999999999999999"],
    "DECIMAL(38,0)": ["'99999999999999999999999999999999999999'", "'-99999999999999999999999999999999999999'"],
    "VARCHAR": ["''", "repeat('ž', 70000)", "chr(1)", "chr(1114111)"],
    "BLOB": ["''", "'\\x00'", "repeat('a', 100000)::BLOB"],
    "BIT": ["'0'", "'1' || repeat('01', 100)"],
    "DATE": ["'5877642-06-25 (BC)'", "'5881580-07-10'"],
    "TIME": ["'00:00:00'", "'24:00:00'"],
    "TIME WITH TIME ZONE": ["'00:00:00+15:59:59'", "'24:00:00-15:59:59'"],
    "TIMESTAMP": ["'290309-12-22 (BC) 00:00:00'", "'294247-01-10 04:00:54.775806'"],
    "TIMESTAMP_S": ["'290309-12-22 (BC) 00:00:00'", "'294247-01-10 04:00:54'"],
    "TIMESTAMP_MS": ["'290309-12-22 (BC) 00:00:00'", "'294247-01-10 04:00:54.775'"],
    "TIMESTAMP_NS": ["'1677-09-22 00:00:00'", "'2262-04-11 23:47:16.854775806'"],
    "TIMESTAMP WITH TIME ZONE": ["'290309-12-22 (BC) 00:00:00+00'", "'294247-01-10 04:00:54.775806+00'"],
    "INTERVAL": [
        "INTERVAL '178956970 years 7 months'",
        "INTERVAL '2147483647 days'",
        "INTERVAL '-2147483648 days'",
        "to_microseconds(9223372036854775807)",
    ],
}

#: Bodies of functions of an INTEGER, by the type of their results, and the text of the result.
ACCEPTED = [
    ("HUGEINT", "numpy.array([1e30])", "1000000000000000019884624838656"),
    ("HUGEINT", "numpy.array([-4.0], 'f4')", "-4"),
    ("UHUGEINT", "numpy.array([2.0**127])", "170141183460469231731687303715884105728"),
    ("DECIMAL(5,2)", "numpy.array([0.25])", "0.25"),
    ("DECIMAL(38,2)", "numpy.array([3], 'u8')", "3.00"),
    ("REAL", "numpy.array([0.1])", "0.1"),
    ("TIME", "numpy.array([86400], 'm8[s]')", "24:00:00"),
    ("DATE", "numpy.array(['NaT'], 'M8[D]')", None),
    ("TIME", "numpy.array(['NaT'], 'm8[us]')", None),
    ("TIMESTAMP", "numpy.array(['NaT'], 'M8[ns]')", None),
    ("TIMESTAMPTZ", "[numpy.datetime64('NaT')]", None),
    ("INTERVAL", "numpy.array(['NaT'], 'm8[us]')", None),
    ("INTEGER", "numpy.ma.masked_array([1], [True])", None),
    ("VARCHAR", "[None]", None),
    ("TIMESTAMP_S", "numpy.array([9223372036854], 'M8[s]')", "294247-01-10 04:00:54"),
    ("MAP(INTEGER, INTEGER)", "[{1: None}]", "{1=NULL}"),
    ("UUID", "[b'0123456789abcdef']", "30313233-3435-3637-3839-616263646566"),
]
REFUSED = [
    ("HUGEINT", "numpy.array([0.25])", "22003"),
    ("HUGEINT", "numpy.array([numpy.nan])", "22004"),
    ("HUGEINT", "numpy.array([numpy.inf])", "22003"),
    ("UHUGEINT", "numpy.array([-1.0])", "22003"),
    ("DECIMAL(5,2)", "numpy.array([0.1])", "22003"),
    ("DECIMAL(5,2)", "numpy.array([1e9])", "22003"),
    ("DECIMAL(5,2)", "numpy.array([numpy.nan])", "22004"),
    ("VARCHAR", "numpy.array([1.5])", "39000"),
    ("BLOB", "numpy.array([1.5])", "39000"),
    ("UUID", "numpy.array([1.5])", "39000"),
    ("DATE", "numpy.array([1.5])", "39000"),
    ("TIME", "numpy.array([1.5])", "39000"),
    ("TIMESTAMP", "numpy.array([1.5])", "39000"),
    ("TIMESTAMPTZ", "numpy.array([1.5])", "39000"),
    ("INTERVAL", "numpy.array([1.5])", "39000"),
    ("DOUBLE[]", "numpy.array([1.5])", "39000"),
    ("BOOLEAN", "numpy.array([1])", "39000"),
    ("TIMESTAMP_S", "numpy.array([9223372036855], 'M8[s]')", "22008"),
    ("TIMESTAMP_S", "numpy.array([-9223372022401], 'M8[s]')", "22008"),
    ("TIMESTAMP_S", "numpy.array([2**62], 'M8[s]')", "22008"),
    ("TIMESTAMP_MS", "numpy.array([9223372036854776], 'M8[ms]')", "22008"),
    ("TIMESTAMP", "numpy.array([-9223372022400000001], 'M8[us]')", "22008"),
    ("TIMESTAMPTZ", "numpy.array([2**63 - 1], 'M8[us]')", "22008"),
    ("TIMESTAMP_S[]", "[numpy.array([2**62], 'M8[s]')]", "22008"),
    ("STRUCT(a TIMESTAMP_MS)", "[{'a': numpy.datetime64(2**62, 'ms')}]", "22008"),
]
#: The same with arrays of pyarrow.
REFUSED_ARROW = [
    ("TIMESTAMP_S", "pyarrow.array([2**62], pyarrow.timestamp('s'))"),
    ("TIMESTAMP_MS", "pyarrow.array([-2**62], pyarrow.timestamp('ms'))"),
    ("TIMESTAMP", "pyarrow.array([-9223372022400000001], pyarrow.timestamp('us'))"),
    ("TIMESTAMPTZ", "pyarrow.array([2**63 - 1], pyarrow.timestamp('us', 'UTC'))"),
    ("TIMESTAMP_S[]", "pyarrow.array([[2**62]], pyarrow.list_(pyarrow.timestamp('s')))"),
]


@pytest.fixture(scope="module")
def connection() -> Iterator[psycopg.Connection]:
    with serving() as server, connected(server) as connection:
        yield connection


def create(connection: psycopg.Connection, parameter: str, result: str, body: str, language: str = "") -> None:
    connection.execute("DROP FUNCTION IF EXISTS limited")
    text = f"CREATE FUNCTION limited(x {parameter}) RETURNS {result} LANGUAGE PYTHON_MAP {language} AS $$ {body} $$"
    connection.execute(text.encode())


@pytest.mark.parametrize("type_", EXTREMES)
def test_extremes_come_back(connection: psycopg.Connection, type_: str) -> None:
    values = [*EXTREMES[type_], "NULL"]
    listed = ", ".join(f"({number}, CAST({value} AS {type_}))" for number, value in enumerate(values))
    create(connection, type_, type_, "return x")
    for chosen in ("n >= 0", "x IS NOT NULL"):
        query = f"SELECT x::VARCHAR, limited(x)::VARCHAR FROM (VALUES {listed}) v(n, x) WHERE {chosen}"
        rows = connection.execute(query.encode()).fetchall()
        assert len(rows) == len(values) - (chosen != "n >= 0")
        assert all(given == found for given, found in rows), rows


@pytest.mark.parametrize(("type_", "returned", "text"), ACCEPTED)
def test_results_that_are_exact(connection: psycopg.Connection, type_: str, returned: str, text: str | None) -> None:
    create(connection, "INTEGER", type_, f"return {returned}")
    # Twice in a session: the second call of plain numbers is shorter.
    for value in (1, 2):
        query = f"SELECT limited(x)::VARCHAR FROM (SELECT {value}::INTEGER AS x)"
        assert connection.execute(query.encode()).fetchall() == [(text,)]


@pytest.mark.parametrize(("type_", "returned", "code"), REFUSED)
def test_results_that_are_not(connection: psycopg.Connection, type_: str, returned: str, code: str) -> None:
    create(connection, "INTEGER", type_, f"return {returned}")
    for _ in range(2):
        with pytest.raises(psycopg.Error) as refused:
            connection.execute("SELECT limited(x)::VARCHAR FROM (SELECT 1::INTEGER AS x)")
        assert refused.value.sqlstate == code, refused.value
        assert "worker process" not in str(refused.value)


@pytest.mark.parametrize(("type_", "returned"), REFUSED_ARROW)
def test_arrays_of_pyarrow_have_the_same_limits(connection: psycopg.Connection, type_: str, returned: str) -> None:
    create(connection, "INTEGER", type_, f"return {returned}", "PARAMETER STYLE ARROW")
    with pytest.raises(psycopg.Error) as refused:
        connection.execute("SELECT limited(x)::VARCHAR FROM (SELECT 1::INTEGER AS x)")
    assert refused.value.sqlstate == "22008", refused.value


@pytest.mark.parametrize("type_", ["DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMPTZ"])
@pytest.mark.parametrize("value", ["infinity", "-infinity"])
def test_infinite_times_do_not_arrive(connection: psycopg.Connection, type_: str, value: str) -> None:
    create(connection, type_, "BOOLEAN", "return [True]")
    with pytest.raises(psycopg.errors.DatetimeFieldOverflow, match="infinite"):
        connection.execute(f"SELECT limited(x) FROM (SELECT '{value}'::{type_} AS x)".encode())


def test_numbers_arrive_as_the_declared_type(connection: psycopg.Connection) -> None:
    """A parameter of DOUBLE takes decimals, which arrive as float64."""
    create(connection, "DOUBLE", "VARCHAR", "return [str(x.dtype)] * len(x)")
    query = "SELECT limited(1.5::DECIMAL(4,1)), limited(1::HUGEINT), limited(1::BIGINT), limited(1.5::REAL)"
    assert connection.execute(query.encode()).fetchall() == [("float64",) * 4]


@pytest.mark.parametrize("type_", ["numeric", '"numeric"', "decimal"])
def test_numeric_without_digits_is_that_of_columns(connection: psycopg.Connection, type_: str) -> None:
    statement = f"create or replace function same(v {type_}) returns {type_} language python_map as $$ return v $$"
    connection.execute(statement.encode())
    assert connection.execute("select same(1.2345678901::numeric(12, 10))::text").fetchall() == [("1.2345678901",)]
    with pytest.raises(psycopg.errors.NumericValueOutOfRange):
        connection.execute("select same(1.23456789012)")
    connection.execute(f"drop function same({type_})".encode())
