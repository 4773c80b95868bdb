"""The listings of the thesis's chapter 4 in this server's grammar: mappable functions, aggregates, and their chains."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import colonnade
import psycopg
import pytest

from tests.functions.sessions import connected, psql, serving
from tests.testbed.serving import Server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as server:
        with connected(server) as connection:
            connection.execute("CREATE TABLE tbl AS SELECT i::INTEGER AS i FROM range(1, 10001) t(i)")
        yield server


SQRT = """
CREATE FUNCTION pysqrt(i INTEGER)
RETURNS REAL
LANGUAGE PYTHON_MAP {
    return numpy.sqrt(i)
};
"""


@pytest.mark.parametrize("parameters", ["i INTEGER", "*"])
@pytest.mark.parametrize("result", ["INTEGER", "TABLE(i INTEGER)"])
@pytest.mark.parametrize("language", ["PYTHON", "PYTHON_MAP"])
def test_listing_4_1_each_form_of_the_syntax(server: Server, parameters: str, result: str, language: str) -> None:
    with connected(server) as connection:
        body = "return next(iter(_columns.values()))"
        connection.execute(
            f"CREATE FUNCTION any_form({parameters}) RETURNS {result} LANGUAGE {language} {{ {body} }};".encode()
        )
        query = "SELECT max(i) FROM any_form((SELECT i FROM tbl))"
        if not result.startswith("TABLE"):
            query = "SELECT max(r) FROM (SELECT any_form(i) AS r FROM tbl)"
        assert connection.execute(query.encode()).fetchone() == (10_000,)
        connection.execute("DROP FUNCTION any_form")
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            head = f"CREATE FUNCTION any_form({parameters}) RETURNS {result}"
            connection.execute(f"{head} LANGUAGE {language} 'external_file.py'".encode())


def test_listing_4_2_as_a_function_of_whole_columns(server: Server) -> None:
    with connected(server) as connection:
        connection.execute(SQRT.replace("pysqrt", "pysqrt_whole").replace("PYTHON_MAP", "PYTHON"))
        rows = connection.execute("SELECT pysqrt_whole(i * 2) FROM tbl ORDER BY 1").fetchall()
        assert len(rows) == 10_000
        assert [root for (root,) in rows[:2]] == pytest.approx([2**0.5, 2.0])
        plan = connection.execute("EXPLAIN SELECT i, pysqrt_whole(i * 2) FROM tbl").fetchall()
        assert "pysqrt_whole(i * 2)" in str(plan)
        assert "error" not in str(plan)


def test_listing_4_2_a_scalar_function(server: Server) -> None:
    with connected(server) as connection:
        connection.execute(SQRT)
        rows = connection.execute("SELECT pysqrt(i * 2) FROM tbl ORDER BY i").fetchall()
        assert [root for (root,) in rows[:2]] == pytest.approx([2**0.5, 2.0])
        frame = colonnade.read_sql(
            "SELECT i, pysqrt(i * 2) AS r FROM tbl WHERE pysqrt(i) > 99",
            f"postgresql://tester@{server.host}:{server.port}/memory",
        )
        assert len(frame) == 10_000 - 99**2
        # psql sends what is in braces in one piece if nothing in it is a semicolon.
        assert psql(server, "SELECT round(sum(pysqrt(i))) FROM tbl").stdout == "666716\n"


def test_listing_4_3_a_chain_of_operators(server: Server) -> None:
    with connected(server) as connection:
        connection.execute(
            """
            CREATE AGGREGATE pymedian(x DOUBLE) RETURNS DOUBLE LANGUAGE PYTHON AS $$
            order = numpy.lexsort((x, aggr_group)); n = numpy.bincount(aggr_group); first = numpy.cumsum(n) - n
            return (x[order][first + (n - 1) // 2] + x[order][first + n // 2]) / 2
            $$
            """
        )
        connection.execute(
            "CREATE FUNCTION root(i INTEGER) RETURNS DOUBLE LANGUAGE PYTHON_MAP { return numpy.sqrt(i) }"
        )
        query = "SELECT pymedian(root(i * 2)), median(sqrt(i * 2)) FROM tbl"
        row = connection.execute(query).fetchone()
        assert row is not None
        assert row[0] == pytest.approx(row[1])
        for of in ("", " FILTER (WHERE i % 10 > 6)"):
            query = f"SELECT i % 7 AS g, pymedian(i){of}, median(i){of} FROM tbl GROUP BY g ORDER BY g"
            rows = connection.execute(query.encode()).fetchall()
            assert len(rows) == 7
            assert all(found == expected for _, found, expected in rows)
        query = "SELECT i % 7, pymedian(i), median(i) FROM tbl GROUP BY ALL ORDER BY 1"
        rows = connection.execute(query).fetchall()
        assert len(rows) == 7
        assert all(found == expected for _, found, expected in rows)


def test_aggregates_are_called_as_any_other(server: Server) -> None:
    with connected(server) as connection:
        connection.execute(
            """
            CREATE AGGREGATE joined(x INTEGER, separator VARCHAR DEFAULT ',') RETURNS VARCHAR LANGUAGE PYTHON_MAP AS $$
            return separator[0].join(map(str, x))
            $$
            """
        )
        connection.execute("CREATE TABLE few AS SELECT i::INTEGER AS i, i % 2 AS g FROM range(6) t(i)")
        for call, expected in (
            ("joined(i ORDER BY i DESC)", "5,4,3,2,1,0"),
            ("joined(i, '-'::VARCHAR ORDER BY g, i) FILTER (WHERE i > 1)", "2-4-3-5"),
            ("joined(DISTINCT (i // 3)::INTEGER, ''::VARCHAR ORDER BY (i // 3)::INTEGER)", "01"),
            ("main.joined(i ORDER BY i) FILTER (i < 2)", "0,1"),
        ):
            cursor = connection.execute(f"SELECT {call} FROM few".encode())
            assert cursor.fetchall() == [(expected,)], call
            assert cursor.description is not None
            assert cursor.description[0].name == "joined"
        rows = connection.execute("SELECT g, joined(i ORDER BY i) FROM few GROUP BY ROLLUP (g) ORDER BY g NULLS LAST")
        assert rows.fetchall() == [(0, "0,2,4"), (1, "1,3,5"), (None, "0,1,2,3,4,5")]
        connection.execute("CREATE TABLE kept AS SELECT joined(i ORDER BY i) AS x FROM few")
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="CREATE VIEW"):
            connection.execute("CREATE VIEW v AS SELECT joined(i ORDER BY i) AS x FROM few")
        connection.execute("DROP AGGREGATE joined")


def test_listing_4_4_a_parallel_minimum(server: Server) -> None:
    with connected(server) as connection:
        connection.execute(
            "CREATE FUNCTION minmap(i INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP { return numpy.min(i) }"
        )
        connection.execute(
            "CREATE AGGREGATE minseq(i INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP { return numpy.min(i) }"
        )
        assert connection.execute("SELECT minseq(minmap(i)) FROM tbl").fetchone() == (1,)


def test_listing_4_4_as_table_functions(server: Server) -> None:
    with connected(server) as connection:
        connection.execute(
            "CREATE FUNCTION minpart(i INTEGER) RETURNS TABLE(i INTEGER) LANGUAGE PYTHON_MAP { return [numpy.min(i)] }"
        )
        connection.execute(
            "CREATE FUNCTION minall(i INTEGER) RETURNS TABLE(i INTEGER) LANGUAGE PYTHON { return [numpy.min(i)] }"
        )
        query = "SELECT min(i) FROM minall((SELECT * FROM minpart((SELECT i FROM tbl))))"
        assert connection.execute(query).fetchone() == (1,)


def test_listing_4_5_a_loopback_query(server: Server) -> None:
    """The classifier is an object of the standard library: what matters is where it comes from."""
    with connected(server) as connection:
        connection.execute("CREATE TABLE classifier (name VARCHAR, classifier BLOB)")
        pickled = pickle.dumps({0: "even", 1: "odd"})
        connection.execute("INSERT INTO classifier VALUES ('RFC', %s)", [pickled])
        connection.execute(
            """
            CREATE FUNCTION classify(id INTEGER, value INTEGER)
            RETURNS TABLE(id INTEGER, prediction STRING)
            LANGUAGE PYTHON AS $$
                import pickle
                res = _conn.execute("SELECT * FROM classifier WHERE name='RFC';")
                classifier = pickle.loads(res['classifier'][0])
                return {'id': id, 'prediction': [classifier[rest] for rest in (value % 2).tolist()]}
            $$
            """
        )
        query = "SELECT * FROM classify((SELECT i, i * 3 FROM tbl ORDER BY i)) c JOIN tbl ON tbl.i = c.id WHERE id < 4"
        rows = connection.execute(query).fetchall()
        assert sorted(rows) == [(1, "odd", 1), (2, "even", 2), (3, "odd", 3)]


def test_an_error_names_its_line(server: Server) -> None:
    with connected(server) as connection:
        connection.execute(
            "CREATE FUNCTION picky(i INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$\n"
            "def check(value):\n    if value > 10:\n        raise ValueError(f'{value} is too large')\n"
            "print('checking', len(i))\nfor value in i: check(value)\nreturn i\n$$"
        )
        notices: list[str] = []
        connection.add_notice_handler(lambda notice: notices.append(notice.message_primary or ""))
        assert connection.execute("SELECT picky(3)").fetchone() == (3,)
        assert notices == ["checking 1"]
        for query in ("SELECT picky(11)", "SELECT sum(picky(i)) FROM tbl", "SELECT picky(i) FROM tbl ORDER BY i"):
            with pytest.raises(psycopg.errors.ExternalRoutineException) as failed:
                connection.execute(query)
            diagnosis = failed.value.diag
            assert (diagnosis.message_primary or "").startswith("ValueError: ")
            assert diagnosis.message_detail is not None
            assert "raise ValueError" in diagnosis.message_detail
            assert diagnosis.context is not None
            assert 'function "main.picky", line 4' in diagnosis.context
            assert "raise ValueError" in (diagnosis.internal_query or "")
        shown = psql(server, "SELECT picky(11)").stderr
        assert "ValueError: 11 is too large" in shown
        assert "CONTEXT:" in shown
