"""EXPLAIN (INPUTS …): the server gives what a function would get from a query."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import colonnade
import psycopg
import pytest

from tests.devudf.projects import connected, rows, serving
from tests.support.users import add_user
from tests.testbed.serving import Server

Session = psycopg.Connection[Any]

STATEMENTS = [
    "CREATE FUNCTION plus(i INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ return i + 1 $$",
    "CREATE FUNCTION strict(i INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP IMMUTABLE STRICT AS $$ return i + 1 $$",
    "CREATE FUNCTION bad(i INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ raise ValueError('no') $$",
    "CREATE AGGREGATE total(x DOUBLE) RETURNS DOUBLE LANGUAGE PYTHON AS $$ return numpy.bincount(aggr_group, x) $$",
    "CREATE AGGREGATE largest(t VARCHAR) RETURNS VARCHAR LANGUAGE PYTHON_MAP AS $$ raise ValueError('no') $$",
    'CREATE FUNCTION clash(batch INTEGER, "Batch_2" INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ return 1 $$',
    "CREATE TABLE t AS SELECT i::INTEGER AS i, i % 3 AS g, i * 1.5::DOUBLE AS d FROM range(10) t(i)",
]


def first(session: Session, statement: str) -> list[Any]:
    return sorted(row[0] for row in rows(session, statement))


@pytest.mark.parametrize(
    ("options", "query", "expected"),
    [
        ("plus", "SELECT plus(i) FROM t", range(10)),
        ("plus", "SELECT sum(plus(i * 2)) FROM t WHERE i < 3", [0, 2, 4]),
        ("bad", "SELECT bad(plus(i)) FROM t", range(1, 11)),
        # The same call at several places: DuckDB's plan decides how often it runs. Nothing calls the function.
        ("bad", "SELECT bad(i), plus(bad(i)) FROM t WHERE bad(i) IS NULL ORDER BY bad(i)", range(10)),
        # What the captured call's result goes to does not run, and what it reads does.
        ("plus", "SELECT bad(plus(i)) FROM t", range(10)),
        ("plus, CALL 1", "SELECT plus(plus(i)) FROM t", range(10)),
        ("plus, CALL 2", "SELECT plus(plus(i)) FROM t", range(1, 11)),
        ("plus, CALL 2", "SELECT plus(i * 2) FROM t WHERE plus(i) > 8", [16, 18]),
        ("plus, CALL 2", "WITH a AS (SELECT plus(i) AS x FROM t) SELECT plus(x) FROM a JOIN t ON x = i", range(1, 10)),
        ("plus, CALL 2", "SELECT * FROM t WHERE plus(i) IN (SELECT plus(g::INTEGER) FROM t)", None),
        # STRICT: rows with NULL are no inputs.
        ("strict", "SELECT strict(nullif(i, 3)) FROM t", [0, 1, 2, 4, 5, 6, 7, 8, 9]),
        ("plus(INTEGER)", "SELECT plus(i) FROM t WHERE false", []),
        ("public.plus", "SELECT plus(i) FROM t LIMIT 0", None),
    ],
)
def test_inputs_are_those_of_the_call(session: Session, options: str, query: str, expected: Any) -> None:
    found = first(session, f"EXPLAIN (INPUTS {options}) {query}")
    if expected is not None:
        assert found == list(expected)


def test_groups_are_whole_and_numbered(session: Session) -> None:
    cursor = session.execute("EXPLAIN (INPUTS total) SELECT g, total(d) FILTER (WHERE i > 0) FROM t GROUP BY g")
    assert cursor.description is not None and [column.name for column in cursor.description] == [
        "x",
        "aggr_group",
        "batch",
    ]
    groups: dict[int, list[float]] = {}
    for value, group, _ in cursor.fetchall():
        groups.setdefault(group, []).append(value)
    assert sorted(sorted(group) for group in groups.values()) == [[1.5, 6.0, 10.5], [3.0, 7.5, 12.0], [4.5, 9.0, 13.5]]
    many = "SELECT total(i::DOUBLE) FROM range(10000) r(i) GROUP BY i % 5000"
    found = rows(session, f"EXPLAIN (INPUTS total) {many}")
    counts = Counter(group for _, group, _ in found)
    assert sorted(counts) == list(range(5000)) and set(counts.values()) == {2}
    # Python is called for up to 2,048 groups.
    assert len({batch for *_, batch in found}) >= 3
    found = rows(session, "EXPLAIN (INPUTS largest) SELECT largest(i::VARCHAR) FROM t GROUP BY g")
    assert len({group for _, group, _ in found}) == 3


def test_a_window_shows_each_frame(session: Session) -> None:
    window = "total(d) OVER (ORDER BY i ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)"
    found = rows(session, f"EXPLAIN (INPUTS total) SELECT {window} FROM t WHERE i < 3")
    frames: dict[int, list[float]] = {}
    for value, group, _ in found:
        frames.setdefault(group, []).append(value)
    assert sorted(map(sorted, frames.values())) == [[0.0], [0.0, 1.5], [1.5, 3.0]]


def test_names_of_columns_are_free(session: Session) -> None:
    cursor = session.execute("EXPLAIN (INPUTS clash) SELECT clash(i, i) FROM t")
    assert cursor.description is not None
    assert [column.name for column in cursor.description] == ["batch", "Batch_2", "batch_3"]


def test_a_sample_has_as_many_rows_and_a_seed_repeats_it(session: Session) -> None:
    query = "SELECT plus(i::INTEGER) FROM range(100000) r(i)"
    one, again, other = (
        rows(session, f"EXPLAIN (INPUTS plus, SAMPLE 1000, SEED {seed}) {query}") for seed in (1, 1, 2)
    )
    assert len(one) == len({value for value, _ in one}) == 1000
    assert one == again
    assert {value for value, _ in one} != {value for value, _ in other}
    assert len(rows(session, "EXPLAIN (INPUTS plus, SAMPLE 1000) SELECT plus(i) FROM t")) == 10
    groups = "SELECT total(i::DOUBLE) FROM range(9000) r(i) GROUP BY i % 3000"
    found = rows(session, f"EXPLAIN (INPUTS total, SAMPLE 7 GROUPS, SEED 1) {groups}")
    counts = Counter(group for _, group, _ in found)
    assert len(counts) == 7 and set(counts.values()) == {3}
    assert len(rows(session, f"EXPLAIN (INPUTS total, SAMPLE 7 ROWS) {groups}")) == 7


def test_a_sample_is_uniform(session: Session) -> None:
    """Each tenth of the rows has its share of a sample, of which the standard deviation is 13 rows."""
    query = "SELECT plus(i::INTEGER) FROM range(50000) r(i)"
    found = first(session, f"EXPLAIN (INPUTS plus, SAMPLE 2000, SEED 42) {query}")
    counts = Counter(value // 5000 for value in found)
    assert len(counts) == 10
    assert all(130 < count < 270 for count in counts.values()), counts


def test_a_sample_of_groups_is_uniform(session: Session) -> None:
    """Groups have the same chance, whether they have one row or twenty. 40 samples of 25 groups of 500."""
    numbers = "SELECT i % 500 AS g FROM range(500) a(i) UNION ALL SELECT i % 250 FROM range(5000) b(i)"
    query = f"SELECT total(g::DOUBLE) FROM ({numbers}) GROUP BY g"
    counts = Counter[int]()
    for seed in range(40):
        found = rows(session, f"EXPLAIN (INPUTS total, SAMPLE 25 GROUPS, SEED {seed}) {query}")
        sizes = Counter(int(value) for value, *_ in found)
        assert len(sizes) == 25
        assert all(size == (21 if group < 250 else 1) for group, size in sizes.items())
        counts.update(group // 50 for group in sizes)
    # A tenth of the groups has 100 of the 1,000 places, and the standard deviation is 9.
    assert len(counts) == 10 and all(60 < count < 140 for count in counts.values()), counts


def test_it_is_a_result_as_any_other(session: Session, server: Server) -> None:
    statement = "EXPLAIN (INPUTS plus) SELECT plus(i) FROM t WHERE i < 3"
    assert rows(session, "EXPLAIN (INPUTS plus) SELECT plus(i) FROM t WHERE i < %s", [2]) == [(0, 0), (1, 0)]
    with session.cursor() as cursor, cursor.copy(f"COPY ({statement}) TO STDOUT (FORMAT csv)") as copy:
        text = b"".join(bytes(part) for part in copy)
    assert text == b"0,0\n1,0\n2,0\n"
    uri = f"postgresql://tester@{server.host}:{server.port}/"
    table = colonnade.read_sql(statement, uri, return_type="arrow")
    assert table.to_pydict() == {"i": [0, 1, 2], "batch": [0, 0, 0]}
    with session.transaction():
        session.execute("CREATE TEMP TABLE mine AS SELECT 7 AS i")
        assert rows(session, "EXPLAIN (INPUTS plus) SELECT plus(i) FROM mine") == [(7, 0)]
        session.execute("DROP TABLE mine")
    # The next statement calls the function again.
    assert first(session, "SELECT plus(i) FROM t WHERE i < 2") == [1, 2]


def test_types_arrive_as_the_columns_of_a_query_do(session: Session, server: Server) -> None:
    types = {
        "BOOLEAN": "true",
        "HUGEINT": "170141183460469231731687303715884105727",
        "UHUGEINT": "340282366920938463463374607431768211455",
        "FLOAT": "1.25",
        "DECIMAL(20,3)": "12345678901234567.891",
        "DECIMAL(4,1)": "-99.9",
        "VARCHAR": "'ä text that is longer than twelve bytes'",
        "BLOB": "'\\xAA\\x00'",
        "UUID": "'12345678-1234-1234-1234-123456789abc'",
        "DATE": "'2020-02-29'",
        "TIME": "'12:34:56.789'",
        "TIMESTAMP": "'infinity'",
        "TIMESTAMP_S": "'2020-01-01 01:02:03'",
        "TIMESTAMP_NS": "'2020-01-01 01:02:03.123456789'",
        "TIMESTAMPTZ": "'2020-01-01 01:02:03+01'",
        "INTERVAL": "'14 months -2 days 3.5 seconds'",
        "INTEGER[]": "[1, NULL, 3]",
        "VARCHAR[][]": "[['a'], NULL, [NULL, 'long text of more than twelve']]",
        "INTEGER[2]": "[1, 2]",
        'STRUCT(a INTEGER, "b c" HUGEINT[])': "{'a': 1, 'b c': [5]}",
        "ENUM('x', 'y''z')": "'y''z'",
    }
    uri = f"postgresql://tester@{server.host}:{server.port}/"
    with colonnade.connect(uri) as connection:
        for number, (type_, literal) in enumerate(types.items()):
            body = "LANGUAGE PYTHON_MAP AS $$ raise ValueError $$"
            connection.execute(f"CREATE FUNCTION typed{number}(x {type_}) RETURNS INTEGER {body}")
            values = f"(VALUES (CAST({literal} AS {type_})), (NULL), (CAST({literal} AS {type_}))) v(x)"
            expected = connection.query(f"SELECT x, 0::BIGINT AS batch FROM {values}").to_arrow()
            found = connection.query(f"EXPLAIN (INPUTS typed{number}) SELECT typed{number}(x) FROM {values}").to_arrow()
            assert found.schema == expected.schema, type_
            assert found.combine_chunks().equals(expected.combine_chunks()), type_


@pytest.mark.parametrize(
    ("statement", "state", "text"),
    [
        ("EXPLAIN (INPUTS plus) SELECT i FROM t", "22023", "the query does not call function plus(INTEGER)"),
        ("EXPLAIN (INPUTS plus, CALL 2) SELECT plus(i) FROM t", "22023", "the query has one call of function"),
        ("EXPLAIN (INPUTS plus, CALL 3) SELECT plus(plus(i)) FROM t", "22023", "the query has 2 calls of function"),
        ("EXPLAIN (INPUTS nothing) SELECT 1", "42883", "function nothing does not exist"),
        ("EXPLAIN (INPUTS plus(DATE)) SELECT 1", "42883", "function plus(DATE) does not exist"),
        ("EXPLAIN (INPUTS plus, SAMPLE 2 GROUPS) SELECT plus(i) FROM t", "42601", "only they have groups"),
        ("EXPLAIN (INPUTS plus, CALL 0) SELECT 1", "42601", 'near "0"'),
        ("EXPLAIN (INPUTS plus, SEED 1) SELECT 1", "42601", "SAMPLE, which SEED needs"),
        ("EXPLAIN (INPUTS plus, CALL 1, CALL 1) SELECT 1", "42601", "each once"),
        ("EXPLAIN (INPUTS plus)", "42601", "end of input: expected a query"),
        ("EXPLAIN (INPUTS plus) INSERT INTO t SELECT plus(1), 1, 1", "0A000", "takes a query; nothing has run"),
        ("EXPLAIN (INPUTS plus) CREATE TABLE u AS SELECT plus(1)", "0A000", "takes a query; nothing has run"),
        ("EXPLAIN (INPUTS plus) SELECT plus(1) FROM read_csv('/etc/passwd')", "42501", ""),
        ("EXPLAIN (INPUTS plus) SELECT plus(bad(i)) FROM t", "38000", "ValueError: no"),
        ("EXPLAIN (INPUTS plus) SELECT plus(i), 1 // 0 FROM t", "22012", "Division by zero"),
    ],
)
def test_what_is_refused(session: Session, statement: str, state: str, text: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        session.execute(statement.encode())
    assert text in str(caught.value)
    assert caught.value.sqlstate == state
    # The capture has ended with the statement.
    assert first(session, "SELECT plus(i) FROM t WHERE i < 2") == [1, 2]


def test_an_error_of_the_query_has_its_place_in_the_statement(session: Session) -> None:
    statement = "EXPLAIN (INPUTS plus, CALL 1) SELECT plus(ü) FROM t"
    with pytest.raises(psycopg.errors.UndefinedColumn) as caught:
        session.execute(statement.encode())
    assert caught.value.diag.statement_position == str(statement.index("ü") + 1)


def test_inputs_beyond_the_memory_are_a_named_error() -> None:
    with serving("--udf-memory", str(64 << 20)) as server, connected(server) as session:
        session.execute(STATEMENTS[0].encode())
        query = "SELECT sum(plus(i::INTEGER)) FROM range(20000000) r(i)"
        with pytest.raises(psycopg.errors.OutOfMemory, match="--udf-memory=67108864 bytes; add SAMPLE"):
            session.execute(f"EXPLAIN (INPUTS plus) {query}".encode())
        assert len(rows(session, f"EXPLAIN (INPUTS plus, SAMPLE 10) {query}")) == 10


def test_a_read_only_user_gets_the_inputs_of_its_own_queries(tmp_path: Path) -> None:
    users = tmp_path / "users"
    add_user(users, "alice", "secret", "--functions")
    add_user(users, "carol", "secret", "--read-only")
    with serving("--users", str(users)) as server:
        alice = psycopg.connect(f"{server.dsn} user=alice password=secret", autocommit=True)
        carol = psycopg.connect(f"{server.dsn} user=carol password=secret", autocommit=True)
        with alice, carol:
            alice.execute(STATEMENTS[0].encode())
            alice.execute("CREATE TABLE t AS SELECT i::INTEGER AS i FROM range(3) t(i)")
            statement = "EXPLAIN (INPUTS plus) SELECT plus(i) FROM t"
            assert rows(carol, statement) == [(0, 0), (1, 0), (2, 0)]
            with carol.transaction():
                assert rows(carol, statement) == [(0, 0), (1, 0), (2, 0)]
                assert first(carol, "SELECT plus(i) FROM t") == [1, 2, 3]
            with pytest.raises(psycopg.Error):
                carol.execute("EXPLAIN (INPUTS plus) SELECT plus(i) FROM missing")
            assert rows(carol, statement) == [(0, 0), (1, 0), (2, 0)]
            # Sessions capture for themselves.
            assert first(alice, "SELECT plus(i) FROM t") == [1, 2, 3]


def test_a_cancelled_capture_ends(session: Session, server: Server) -> None:
    with connected(server) as other:
        other.execute("SET statement_timeout = '300ms'")
        with pytest.raises(psycopg.errors.QueryCanceled):
            other.execute("EXPLAIN (INPUTS plus, SAMPLE 1) SELECT sum(plus(i::INTEGER)) FROM range(10000000000) r(i)")
        other.execute("RESET statement_timeout")
        assert first(other, "SELECT plus(i) FROM t WHERE i < 2") == [1, 2]
