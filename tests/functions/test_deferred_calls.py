"""Functions beside the plan give what they give within it. They run there if the plan does not use their results."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import duckdb
import pytest
from colonnade_serve import _core
from colonnade_serve._duckdb.engine import Engine

from tests.functions.engines import Client, client, engine
from tests.functions.type_values import NESTED, VALUES

#: The types whose calls can be deferred: those whose values Arrow has.
DEFERRED = [type_ for type_ in VALUES | NESTED if type_ not in ("UHUGEINT", "INTERVAL")]


@pytest.fixture(scope="module")
def database(processes: _core.FunctionProcesses) -> Iterator[Engine]:
    with engine(processes) as made:
        yield made


@pytest.fixture(scope="module")
def one(database: Engine) -> Iterator[Client]:
    with client(database) as made:
        made.define("f", {"x": "INTEGER"}, "INTEGER", "return x + 1")
        made.define("g", {"x": "INTEGER", "s": "VARCHAR"}, "VARCHAR", "return [f'{a}{b}' for a, b in zip(x, s)]")
        made.define("total", {"x": "INTEGER"}, "BIGINT", "return numpy.bincount(aggr_group, x)", kind="aggregate")
        made.run("CREATE TABLE t AS SELECT x::INTEGER AS x, 's' || x AS s FROM range(5000) r(x)")
        made.run("CREATE VIEW called AS SELECT f(x) AS v FROM t")
        made.run("CREATE MACRO wrapped(x) AS (SELECT v FROM (SELECT f(x) AS v) WHERE v IS NOT NULL)")
        made.run("CREATE MACRO plus(x) AS f(x) + 1")
        yield made


@pytest.mark.parametrize("type_", DEFERRED)
def test_each_type_is_the_same(one: Client, type_: str) -> None:
    one.define("same", {"x": type_}, type_, "return x")
    one.define("strict", {"x": type_}, type_, "return x", strict=True)
    found = (VALUES | NESTED)[type_]
    values, count = ", ".join(f"CAST({value} AS {type_})" for value in [*found, "NULL"]), len(found)
    for rows in (0, 1, 2047, 5000):
        # The first 3,000 rows have no NULL, so that it begins within a later call.
        at = f"1 + (r % (CASE WHEN r < 3000 THEN {count} ELSE {count + 1} END))"
        source = f"FROM (SELECT ([{values}])[{at}] AS x, r FROM range({rows}) t(r))"
        # With a filter, vectors have parts of others' values.
        for filtered in ("", " WHERE r % 3 > 0"):
            beside, within = one.both("r, same(x), strict(x)", source + filtered)
            # As texts, because NaN is not equal to itself.
            assert str(beside.to_pylist()) == str(within.to_pylist())
            assert beside.schema.equals(within.schema, check_metadata=True)
            # DuckDB gives a HUGEINT of 39 digits as a decimal of 38.
            beside.validate(full=type_ != "HUGEINT")
            assert beside.num_rows == rows - (rows + 2) // 3 * bool(filtered)
    assert one.session.functions is not None
    one.session.functions.drop([(None, "same", None), (None, "strict", None)], False, False, False)


def test_nulls_are_chosen_by_all_arguments_of_a_strict_function(one: Client) -> None:
    body = "return [f'{a}{b}' for a, b in zip(x, s, strict=True)]"
    one.define("joined", {"x": "INTEGER", "s": "VARCHAR"}, "VARCHAR", body, strict=True)
    source = "FROM (SELECT CASE WHEN r % 3 > 0 THEN r::INTEGER END AS x, CASE WHEN r % 5 > 0 THEN 'a' END AS s "
    beside, within = one.both("joined(x, s), joined(x, NULL), joined(1, s)", source + "FROM range(4000) t(r))")
    assert beside.equals(within)
    assert beside.column(0).null_count == 4000 - len([r for r in range(4000) if r % 3 and r % 5])


@pytest.mark.parametrize(
    "query",
    [
        "SELECT f(x) FROM t",
        "SELECT x, f(x), g(x, s), f(x * 2) FROM t WHERE x > 3 LIMIT 7",
        "SELECT f(1)",
        "SELECT F(x) FROM t",
        "SELECT main.f(x) AS a FROM t",
        "SELECT memory.main.f(x) FROM t",
        "WITH c AS (SELECT x FROM t) SELECT f(x) FROM c",
        "SELECT f(max(x)) FROM t",
        "SELECT f(x := x) FROM t",
        "SELECT f((SELECT 3)) FROM t",
        "FROM t SELECT f(x)",
    ],
)
def test_items_run_beside_the_plan(one: Client, query: str) -> None:
    before = one.deferred_calls.runs
    found = one.rows(query)
    assert one.deferred_calls.runs == before + 1
    assert one.rows(query) == found
    assert one.deferred_calls.runs == before + 2, "a remembered statement"
    assert found == one.rows(f"SELECT * FROM ({query})")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT f(x) AS v FROM t WHERE v IS NULL", []),
        ("SELECT f(x) AS v, v IS NULL FROM t LIMIT 1", [(1, False)]),
        ("SELECT f(x) AS v, v FROM t LIMIT 1", [(1, 1)]),
        ("SELECT f(x) IS NULL FROM t LIMIT 1", [(False,)]),
        ("SELECT f(x)::VARCHAR FROM t LIMIT 1", [("1",)]),
        ("SELECT f(f(x)) FROM t LIMIT 1", [(2,)]),
        ("SELECT f(x) FROM t ORDER BY f(x) DESC LIMIT 1", [(5000,)]),
        ("SELECT f(x) AS v FROM t ORDER BY v LIMIT 1", [(1,)]),
        ("SELECT f(x) FROM t ORDER BY 1 DESC LIMIT 1", [(5000,)]),
        ("SELECT DISTINCT f(x // 5000) FROM t", [(1,)]),
        ("SELECT f(x // 5000) FROM t GROUP BY 1", [(1,)]),
        ("SELECT f(x // 5000) AS v FROM t GROUP BY ALL", [(1,)]),
        ("SELECT count(f(x)) FROM t", [(5000,)]),
        ("SELECT f(1) UNION SELECT f(1)", [(2,)]),
        ("SELECT f(1) UNION ALL SELECT f(1)", [(2,), (2,)]),
        ("SELECT f(x) FROM t QUALIFY row_number() OVER (ORDER BY x) = 2", [(2,)]),
        ("SELECT f(x), row_number() OVER (ORDER BY f(x)) FROM t LIMIT 1", [(1, 1)]),
        ("SELECT f(x) FROM t WHERE f(x) = 3", [(3,)]),
        ("SELECT f(x) FROM t LIMIT (SELECT f(0))", [(1,)]),
        ("SELECT (SELECT f(1))", [(2,)]),
        ("SELECT v FROM called LIMIT 1", [(1,)]),
        ("SELECT f(v) FROM called LIMIT 1", [(2,)]),
        ("SELECT v IS NULL FROM called LIMIT 1", [(False,)]),
        ("SELECT wrapped(1), f(2)", [(2, 3)]),
        ("SELECT wrapped(1)", [(2,)]),
        ("SELECT plus(1)", [(3,)]),
        ("SELECT CASE WHEN true THEN f(1) END", [(2,)]),
        ("SELECT {'a': f(1)}", [({"a": 2},)]),
        ("SELECT [f(1)]", [([2],)]),
        ("SELECT total(x) FROM t", [(12497500,)]),
        ("SELECT f(total(x)::INTEGER) FROM t", [(12497501,)]),
        ("SELECT * FROM (VALUES (1)) v(x) WHERE EXISTS (SELECT f(x))", [(1,)]),
        ("WITH c AS (SELECT f(1) AS v) SELECT v FROM c", [(2,)]),
        ("SELECT f(1) FROM (SELECT f(2) AS v) WHERE v = 3", [(2,)]),
    ],
)
def test_others_run_within_the_plan(one: Client, query: str, expected: list[tuple[object, ...]]) -> None:
    before = one.deferred_calls.runs
    assert one.rows(query) == expected
    assert one.rows(query) == expected, "a remembered statement"
    assert one.deferred_calls.runs == before


def test_scalar_and_unusual_types_run_within_the_plan(one: Client) -> None:
    one.define("scalar", {"x": "INTEGER"}, "INTEGER", "return x", scalar=["x"])
    one.define("nothing", {}, "INTEGER", "return 3")
    one.define("same_interval", {"x": "INTERVAL"}, "INTERVAL", "return x")
    one.define("same_map", {"x": "MAP(INTEGER, VARCHAR)"}, "MAP(INTEGER, VARCHAR)", "return x")
    one.define("tagged", {"x": "UNION(n INTEGER)"}, "INTEGER", "return x")
    one.define("intervals", {"x": "INTERVAL[]"}, "INTEGER", "return [len(value) for value in x]")
    before = one.deferred_calls.runs
    assert one.rows("SELECT scalar(3)") == [(3,)]
    assert one.rows("SELECT nothing()") == [(3,)]
    assert len(one.rows("SELECT same_interval(INTERVAL 1 MONTH)")) == 1
    assert one.rows("SELECT same_map(MAP {1: 'a'})") == [([(1, "a")],)]
    assert one.rows("SELECT tagged(3::UNION(n INTEGER))") == [(3,)]
    assert one.rows("SELECT intervals([INTERVAL 1 MONTH])") == [(1,)]
    assert one.deferred_calls.runs == before


def test_a_label_that_an_enum_does_not_have(one: Client) -> None:
    one.define("label", {"x": "INTEGER"}, "ENUM('a', 'b')", "return ['c' if item == 4000 else 'b' for item in x]")
    for query in ("SELECT label(x) FROM t", "SELECT v FROM (SELECT label(x) AS v FROM t)"):
        before = one.deferred_calls.runs
        with pytest.raises(Exception, match=r"colonnade function error \d+") as caught:
            one.rows(query)
        assert one.deferred_calls.runs == before + ("SELECT v" not in query)
        assert one.session.functions is not None
        failure = one.session.functions.failure(str(caught.value))
        assert failure is not None
        text = "function \"main.label\": \"c\" is no value of ENUM('a', 'b')"
        assert (failure.code, failure.message) == ("22023", text)


def test_a_type_with_a_name(one: Client) -> None:
    one.run("CREATE TYPE weight AS DECIMAL(9,2)")
    one.define("weighed", {"x": "weight"}, "weight", "return x[::-1]")
    before = one.deferred_calls.runs
    assert one.rows("SELECT weighed(x) FROM (VALUES (1.25::weight), (3)) v(x)") == [(Decimal(3),), (Decimal("1.25"),)]
    assert one.deferred_calls.runs == before + 1


def test_an_enum_with_a_name(one: Client) -> None:
    one.run("CREATE TYPE mood AS ENUM ('sad', 'ok')")
    one.define("felt", {"x": "mood"}, "mood", "return ['sad' if item == 'ok' else 'ok' for item in x]")
    one.run("CREATE TABLE moods AS SELECT CASE WHEN x % 2 = 0 THEN 'ok' ELSE 'sad' END::mood AS m FROM t")
    assert one.rows("SELECT felt(m) FROM moods") == [("sad",), ("ok",)] * 2500
    assert one.rows("SELECT count(*) FROM moods WHERE felt(m) = 'ok'") == [(2500,)]


def test_a_limit_limits_the_rows_of_calls(one: Client) -> None:
    one.define("few", {"x": "INTEGER"}, "INTEGER", "assert len(x) == 7, len(x)\nreturn x")
    assert len(one.rows("SELECT few(x) FROM t LIMIT 7")) == 7


def test_calls_have_at_least_a_vector_and_grow(one: Client) -> None:
    one.define("size", {"x": "INTEGER"}, "INTEGER", "return numpy.full(len(x), len(x))", volatility="v")
    one.run("CREATE OR REPLACE TABLE many AS SELECT range::INTEGER AS x FROM range(100000)")
    before = one.deferred_calls.runs
    sizes: list[int] = one.table("SELECT size(x) FROM many").column(0).to_pylist()
    assert one.deferred_calls.runs == before + 1
    assert sizes[0] == 2048
    assert max(sizes) > 2048
    assert len(sizes) == 100_000


def test_an_error_is_the_functions(one: Client) -> None:
    one.define("fails", {"x": "INTEGER"}, "INTEGER", "if (x > 4000).any():\n  raise ValueError('too much')\nreturn x")
    before = one.deferred_calls.runs
    with pytest.raises(Exception, match="too much") as caught:
        one.rows("SELECT fails(x) FROM t")
    assert one.deferred_calls.runs == before + 1
    assert one.session.functions is not None
    failure = one.session.functions.failure(str(caught.value))
    assert failure is not None
    assert (failure.code, failure.message) == ("38000", "ValueError: too much")
    assert failure.context == 'function "main.fails", line 2'
    assert one.rows("SELECT f(1)") == [(2,)]


def test_a_name_that_becomes_a_macro_is_called_as_one(database: Engine, one: Client) -> None:
    """Each of these changes comes between two runs of a statement that is remembered."""
    query = "SELECT changing(x) FROM t LIMIT 2"
    consuming = "(x) AS (SELECT v FROM (SELECT f(x) + 10 AS v) WHERE v IS NOT NULL)"
    with client(database) as other:
        for number, changed_by in enumerate((one, other)):
            changing = f"{query} -- {number}"
            changed_by.define("changing", {"x": "INTEGER"}, "INTEGER", "return x")
            before = one.deferred_calls.runs
            assert one.rows(changing) == one.rows(changing) == [(0,), (1,)]
            assert one.deferred_calls.runs == before + 2
            changed_by.run(f"CREATE OR REPLACE MACRO changing{consuming}")
            assert one.rows(changing) == [(11,), (12,)]
            assert one.deferred_calls.runs == before + 2
            changed_by.run("DROP MACRO changing")
    one.define("changing", {"x": "INTEGER"}, "INTEGER", "return x")
    before = one.deferred_calls.runs
    assert one.rows(query) == [(0,), (1,)]
    assert one.deferred_calls.runs == before + 1
    one.run("CREATE SCHEMA other")
    one.run("CREATE MACRO other.changing(x) AS (SELECT v FROM (SELECT main.changing(x) AS v) WHERE v IS NULL)")
    one.run("SET search_path = 'other,main'")
    assert one.rows(query.replace(" t ", " main.t ")) == [(None,), (None,)]
    assert one.deferred_calls.runs == before + 1
    one.run("SET search_path = 'main'")
    one.run("DROP SCHEMA other CASCADE")
    assert one.rows(f"{query} -- again") == [(0,), (1,)]
    assert one.deferred_calls.runs == before + 2
    one.run(f"CREATE TEMP MACRO changing{consuming}")
    assert one.rows(f"{query} -- there is a macro of this name that does something else") == one.rows(
        f"SELECT * FROM ({query})"
    )
    assert one.deferred_calls.runs == before + 2
    one.run("DROP MACRO temp.changing")


def test_a_table_that_becomes_a_view_over_a_function(one: Client) -> None:
    one.run("CREATE VIEW moving AS SELECT x FROM t")
    query = "SELECT f(x) FROM moving LIMIT 2"
    before = one.deferred_calls.runs
    assert one.rows(query) == one.rows(query) == [(1,), (2,)]
    assert one.deferred_calls.runs == before + 2
    one.run("CREATE OR REPLACE VIEW moving AS SELECT f(x) + 1 AS x FROM t")
    assert one.rows(query) == [(3,), (4,)]
    assert one.deferred_calls.runs == before + 2


def test_transactions_see_their_own_catalog(database: Engine, one: Client) -> None:
    one.define("mine", {"x": "INTEGER"}, "INTEGER", "return x")
    query = "SELECT mine(x) FROM t LIMIT 1"
    assert one.rows(query) == [(0,)]
    with client(database) as other:
        one.run("BEGIN")
        before = one.deferred_calls.runs
        assert one.rows(query) == [(0,)]
        assert one.deferred_calls.runs == before + 1, "nothing has changed"
        other.define("mine", {"x": "INTEGER"}, "INTEGER", "return x + 100")
        assert one.rows(query) == [(0,)], "the snapshot of the transaction"
        one.run("COMMIT")
        assert one.rows(query) == [(100,)]
        one.run("BEGIN")
        one.run("CREATE OR REPLACE MACRO mine(x) AS (SELECT v FROM (SELECT f(x) AS v) WHERE v IS NULL)")
        assert one.rows(query) == [(None,)]
        assert other.rows(query) == [(100,)]
        one.run("ROLLBACK")
        before = one.deferred_calls.runs
        assert one.rows(query) == [(100,)]
        assert one.deferred_calls.runs == before + 1


def test_an_error_within_a_transaction_does_not_come_from_deferring(one: Client) -> None:
    """DuckDB aborts a transaction when binding fails. So nothing is bound that could fail."""
    one.run("BEGIN")
    for query in ("SELECT f(x) + 1 FROM t LIMIT 1", "SELECT f(f(x)) FROM t LIMIT 1", "SELECT plus(x) FROM t LIMIT 1"):
        assert one.rows(query) == one.rows(query) == [(2,)] or "plus" in query
    assert one.rows("SELECT plus(x) FROM t LIMIT 1") == [(2,)]
    one.run("COMMIT")


def test_a_stream_is_given_once(one: Client) -> None:
    answer = one.session.execute(one.allowed("SELECT f(x) FROM t"), 1000, 1 << 20, None)
    assert answer.stream is not None
    answer.stream.__arrow_c_stream__()
    with pytest.raises(ValueError, match="read already"):
        answer.stream.__arrow_c_stream__()


def test_columns_that_are_no_deferred_calls_are_refused(one: Client) -> None:
    assert one.session.functions is not None
    processes = one.session.functions.processes
    with duckdb.connect() as connection, pytest.raises(ValueError, match="no deferred calls"):
        processes.begin_binding(False)
        one.rows("SELECT f(1)")
        processes.begin_binding(False)
        one.session.library.bind("SELECT f(1)")
        (call,) = processes.end_binding()
        processes.call_deferred(connection.sql("SELECT 1 AS x").to_arrow_reader(), [(0, call.id)])
