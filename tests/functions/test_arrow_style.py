"""PARAMETER STYLE ARROW: arguments are arrays of pyarrow, and results may be."""

from __future__ import annotations

import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path

import numpy
import psycopg
import pytest

from tests.functions.sessions import connected, serving, value
from tests.functions.type_values import NESTED, VALUES

#: Beside those of other tests.
OTHERS = {
    "BIT": ["'101'"],
    "MAP(VARCHAR, INTEGER)": ["MAP {'a': 1, 'b': NULL}", "MAP {}"],
    "MAP(INTEGER, VARCHAR[])": ["MAP {1: ['x', NULL], 2: NULL}"],
    "UNION(a INTEGER, b VARCHAR)": ["union_value(a := 1)", "union_value(b := 'x')"],
    "STRUCT(m MAP(VARCHAR, DATE), t TIMESTAMP WITH TIME ZONE)[]": [
        "[{'m': MAP {'a': DATE '2025-01-01'}, 't': TIMESTAMPTZ '2025-01-01 00:00:00+00'}, NULL]"
    ],
}
TYPES = VALUES | NESTED | OTHERS


@pytest.fixture(scope="module")
def connection() -> Iterator[psycopg.Connection]:
    with serving() as server, connected(server) as connection:
        yield connection


@pytest.fixture(scope="module")
def tables(connection: psycopg.Connection) -> dict[str, str]:
    """For each type a table with its values and NULL."""
    found = {}
    for number, (type_, values) in enumerate(TYPES.items()):
        listed = ", ".join(f"(CAST({value} AS {type_}))" for value in [*values, "NULL"])
        rows = f"SELECT row_number() OVER () AS i, x FROM (VALUES {listed}) v(x), range(900)"
        connection.execute(f"CREATE TABLE t{number} AS {rows}".encode())
        found[type_] = f"t{number}"
    return found


@pytest.mark.parametrize("type_", TYPES)
def test_values_of_each_type_come_back(connection: psycopg.Connection, tables: dict[str, str], type_: str) -> None:
    connection.execute(
        f"CREATE FUNCTION same(x {type_}) RETURNS {type_} LANGUAGE PYTHON_MAP PARAMETER STYLE ARROW AS "
        "$$ assert isinstance(x, pyarrow.Array); x.validate(full=True); return x $$".encode()
    )
    query = f"SELECT count(*), count_if(x IS DISTINCT FROM same(x)) FROM {tables[type_]}"
    assert connection.execute(query.encode()).fetchone() == (900 * (len(TYPES[type_]) + 1), 0)
    connection.execute("DROP FUNCTION same")


@pytest.mark.parametrize("type_", ["BOOLEAN", "HUGEINT", "VARCHAR", "VARCHAR[][]", "MAP(VARCHAR, INTEGER)"])
def test_all_kinds_of_functions_get_arrays(connection: psycopg.Connection, tables: dict[str, str], type_: str) -> None:
    table, rows = tables[type_], 900 * len(TYPES[type_])
    for head, language, body in (
        (f"FUNCTION strict(x {type_}) RETURNS {type_}", "PYTHON_MAP STRICT", "assert x.null_count == 0; return x"),
        (f"FUNCTION whole(x {type_}) RETURNS {type_}", "PYTHON", "assert len(x) >= 1800; return x"),
        (
            f"FUNCTION listed(i BIGINT, x {type_}) RETURNS TABLE (j BIGINT, y {type_})",
            "PYTHON STRICT",
            "assert x.null_count == 0; return pyarrow.table({'j': i, 'y': x})",
        ),
        (
            f"AGGREGATE one(x {type_}) RETURNS {type_}",
            "PYTHON",
            "return x.take(pyarrow.array(numpy.unique(aggr_group.to_numpy(), return_index=True)[1]))",
        ),
        (f"AGGREGATE per_group(x {type_}) RETURNS {type_}", "PYTHON_MAP", "return x[0]"),
    ):
        text = f"CREATE OR REPLACE {head} LANGUAGE {language} PARAMETER STYLE ARROW AS $$ {body} $$"
        connection.execute(text.encode())
    for query in (
        f"SELECT x, strict(x) AS y FROM {table} WHERE x IS NOT NULL OR strict(x) IS NOT NULL",
        f"SELECT x, y FROM (SELECT x, whole(x) AS y FROM {table}) WHERE x IS NOT NULL",
        f"SELECT x, y FROM listed((SELECT i, x FROM {table})) l JOIN {table} ON i = j",
        f"SELECT any_value(x) AS x, one(x) AS y FROM {table} WHERE x IS NOT NULL GROUP BY i",
        f"SELECT any_value(x) AS x, per_group(x) AS y FROM {table} WHERE x IS NOT NULL GROUP BY i",
    ):
        found = connection.execute(f"SELECT count(*), count_if(x IS DISTINCT FROM y) FROM ({query})".encode())
        assert found.fetchone() == (rows, 0), query
    for dropped in ("FUNCTION strict", "FUNCTION whole", "FUNCTION listed", "AGGREGATE one", "AGGREGATE per_group"):
        connection.execute(f"DROP {dropped}".encode())


INTERVAL = "pyarrow.month_day_nano_interval()"
MAP = "pyarrow.map_(pyarrow.string(), pyarrow.int32())"
RESULTS = [
    ("BIGINT", "pyarrow.compute.sum(pyarrow.array([1, 2]))", 3),
    ("BIGINT", "pyarrow.chunked_array([[1], [2, 3]])[:1]", 1),
    ("INTEGER", "numpy.array([5])", 5),
    ("DOUBLE", "[2.5]", 2.5),
    ("SMALLINT", "pyarrow.array([7], pyarrow.int64())", 7),
    ("VARCHAR", "pyarrow.array(['a'], pyarrow.string_view())", "a"),
    ("VARCHAR", "pyarrow.array(['a', 'b']).dictionary_encode()[1:]", "b"),
    ("HUGEINT::VARCHAR", "pyarrow.array([3], pyarrow.decimal128(38, 0))", "3"),
    ("VARCHAR[]", "pyarrow.array([['a', None]], pyarrow.list_(pyarrow.string_view()))", ["a", None]),
    (
        "INTERVAL::VARCHAR",
        "pyarrow.array([(1, 2, 3000)], pyarrow.month_day_nano_interval())",
        "1 month 2 days 00:00:00.000003",
    ),
    ("BOOLEAN", "pyarrow.nulls(1)", None),
]


@pytest.mark.parametrize("number", range(len(RESULTS)))
def test_other_results_are_converted(connection: psycopg.Connection, number: int) -> None:
    type_, result, expected = RESULTS[number]
    type_, _, shown = type_.partition("::")
    connection.execute(
        f"CREATE FUNCTION r{number}() RETURNS {type_} LANGUAGE PYTHON_MAP PARAMETER STYLE ARROW AS "
        f"$$\nimport pyarrow.compute\nreturn {result}\n$$".encode()
    )
    assert value(connection, f"SELECT r{number}(){f'::{shown}' if shown else ''}") == expected


REFUSED = [
    ("TINYINT", "pyarrow.array([300])", "22003"),
    ("INTEGER", "pyarrow.array([1.5])", "22003"),
    ("INTEGER", "pyarrow.array(['1'])", "39000"),
    ("INTEGER", "pyarrow.array([1, 2])", "39000"),
    ("DECIMAL(4,1)", "pyarrow.array([decimal.Decimal('1.25')])", "22003"),
    ("DATE", "pyarrow.array([2**31 - 1], pyarrow.int32()).cast(pyarrow.date32())", "22008"),
    ("DATE", "pyarrow.array([datetime.datetime(2025, 1, 1, 1)])", "22008"),
    ("TIME", "pyarrow.array([90_000_000_000]).cast(pyarrow.time64('us'))", "22008"),
    ("TIME", "pyarrow.array([1]).cast(pyarrow.time64('ns'))", "22008"),
    ("TIMESTAMP WITH TIME ZONE", "pyarrow.array([1], pyarrow.timestamp('ns', 'UTC'))", "22008"),
    ("INTERVAL", f"pyarrow.array([(1, 2, 3)], {INTERVAL})", "22008"),
    ("VARCHAR", "pyarrow.array(['a\\0b'])", "22021"),
    ("MAP(VARCHAR, INTEGER)", f"pyarrow.array([[('a', 1), ('a', 2)]], {MAP})", "22023"),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_values_that_do_not_fit_are_refused(connection: psycopg.Connection, number: int) -> None:
    type_, result, code = REFUSED[number]
    connection.execute(
        f"CREATE FUNCTION bad{number}() RETURNS {type_} LANGUAGE PYTHON_MAP PARAMETER STYLE ARROW AS "
        f"$$\nimport datetime, decimal\nreturn {result}\n$$".encode()
    )
    with pytest.raises(psycopg.Error) as refused:
        connection.execute(f"SELECT bad{number}()".encode())
    assert refused.value.sqlstate == code, refused.value


def test_values_that_arrow_has_not_are_refused(connection: psycopg.Connection) -> None:
    for type_, found in (("DATE", "infinity"), ("TIMESTAMP", "-infinity"), ("TIME", "24:00:00")):
        text = f"CREATE FUNCTION taken(x {type_}) RETURNS INTEGER LANGUAGE PYTHON_MAP PARAMETER STYLE ARROW"
        connection.execute(f"{text} AS $$ return 1 $$".encode())
        with pytest.raises(psycopg.errors.DatetimeFieldOverflow, match="Arrow has no"):
            connection.execute(f"SELECT taken({type_} '{found}')".encode())
        assert value(connection, f"SELECT taken(NULL::{type_})") == 1
        connection.execute(f"DROP FUNCTION taken({type_})".encode())


def test_arguments_share_the_servers_memory(connection: psycopg.Connection) -> None:
    """The buffers of an argument are in the memory that server and function process share, and not copies."""
    connection.execute(
        "CREATE FUNCTION shared(x BIGINT, t VARCHAR) RETURNS BOOLEAN LANGUAGE PYTHON_MAP PARAMETER STYLE ARROW AS $$\n"
        "maps = [line.split() for line in open('/proc/self/maps')]\n"
        "def of(address):\n"
        "    for line in maps:\n"
        "        start, stop = (int(part, 16) for part in line[0].split('-'))\n"
        "        if start <= address < stop: return line[1], line[4]\n"
        "buffers = x.buffers()[1:] + t.buffers()[1:]\n"
        "return all(of(buffer.address)[0].endswith('s') for buffer in buffers)\n$$"
    )
    assert value(connection, "SELECT bool_and(shared(i, i::VARCHAR || ' and more')) FROM range(3000) r(i)") is True


def test_one_value_is_a_value_of_python(connection: psycopg.Connection) -> None:
    connection.execute(
        "CREATE FUNCTION times(x BIGINT, factor BIGINT, n DATE) RETURNS BIGINT LANGUAGE PYTHON_MAP SCALAR (factor, n) "
        "PARAMETER STYLE ARROW AS $$\nimport pyarrow.compute as pc\n"
        "assert isinstance(factor, int)\nreturn pc.multiply(x, factor)\n$$"
    )
    query = "SELECT sum(times(i, 2, DATE '2025-01-01'))::BIGINT FROM range(10) r(i)"
    assert value(connection, query) == 90
    definition = str(value(connection, "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname = 'times'"))
    assert "PARAMETER STYLE ARROW SCALAR (factor, n)" in definition
    connection.execute("DROP FUNCTION times")
    connection.execute(definition.encode())
    assert value(connection, query) == 90
    assert value(connection, "SELECT style FROM colonnade_functions WHERE name = 'times'") == "arrow"


def test_an_interpreter_without_pyarrow_is_named() -> None:
    """CREATE is refused, and other functions run."""
    packages = Path(numpy.__file__).parents[1]
    with tempfile.TemporaryDirectory() as folder:
        # The user that runs functions must be able to read it.
        Path(folder).chmod(0o755)
        environment = Path(folder) / "environment"
        venv.create(environment, symlinks=True)
        (own,) = environment.glob("lib/python*/site-packages")
        for part in packages.glob("numpy*"):
            (own / part.name).symlink_to(part)
        options = ("--udf-python", environment / "bin/python", "--udf-read", packages)
        with serving(*options) as server, connected(server) as one:
            create = "CREATE FUNCTION f(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ return x $$"
            with pytest.raises(
                psycopg.errors.ObjectNotInPrerequisiteState, match="PARAMETER STYLE ARROW needs pyarrow"
            ):
                one.execute(f"{create} PARAMETER STYLE ARROW".encode())
            one.execute(create.encode())
            assert value(one, "SELECT f(1)") == 1


def test_any_arguments(connection: psycopg.Connection) -> None:
    connection.execute(
        "CREATE FUNCTION widest(*) RETURNS VARCHAR LANGUAGE PYTHON_MAP PARAMETER STYLE ARROW AS "
        "$$ return ', '.join(str(column.type) for column in _columns.values()) $$"
    )
    assert value(connection, "SELECT widest(1::TINYINT, 'x')") == "int8, large_string"
