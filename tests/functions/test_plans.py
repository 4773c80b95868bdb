"""Scalar functions wherever an expression may stand, with any number of rows."""

from __future__ import annotations

import os
import threading

import duckdb
import pytest
from colonnade_serve import _core

from tests.functions.plans import Caller, caller, pool

REST = "return x % 100"


def test_a_result_for_each_row(plans: Caller) -> None:
    plans.define("rest", {"x": "INTEGER"}, "INTEGER", REST)
    for rows in (0, 1, 63, 64, 65, 2047, 2048, 2049, 300_000):
        query = f"SELECT count(*), bool_and(rest(x::INTEGER) = x % 100) FROM range({rows}) t(x)"
        assert plans.rows(query) == [(rows, True if rows else None)]


def test_wherever_an_expression_may_stand(plans: Caller) -> None:
    plans.define("rest", {"x": "INTEGER"}, "INTEGER", REST)
    plans.connection.execute("CREATE TABLE n AS SELECT x::INTEGER AS x FROM range(1000) t(x)")
    assert plans.value("SELECT count(*) FROM n WHERE rest(x) = 7") == 10
    assert plans.value("SELECT count(*) FROM n a JOIN n b ON rest(a.x) = b.x") == 1000
    assert plans.rows("SELECT rest(x) AS r, count(*) FROM n GROUP BY r ORDER BY r LIMIT 1") == [(0, 10)]
    assert plans.value("SELECT CASE WHEN x > 5 THEN rest(x) END FROM n ORDER BY x DESC LIMIT 1") == 99
    plans.connection.execute("CREATE VIEW v AS SELECT rest(x) AS r FROM n")
    assert plans.value("SELECT sum(r) FROM v") == 49_500
    plans.connection.execute("CREATE TABLE d (x INTEGER, r INTEGER DEFAULT rest(1234))")
    plans.connection.execute("INSERT INTO d (x) VALUES (1), (2)")
    assert plans.rows("FROM d") == [(1, 34), (2, 34)]
    assert plans.value("SELECT rest(rest(x) * 1001) FROM n WHERE x = 999") == 99
    prepared = "SELECT sum(rest(x)) FROM n WHERE x < $1"
    for limit, expected in ((100, 4950), (200, 9900)):
        assert plans.connection.execute(prepared, [limit]).fetchone() == (expected,)


def test_constants_dictionaries_and_parts_of_vectors(plans: Caller) -> None:
    plans.define("join2", {"a": "VARCHAR", "b": "VARCHAR"}, "VARCHAR", "return [x + y for x, y in zip(a, b)]")
    query = (
        "SELECT bool_and(join2(a, b) = a || b), count(DISTINCT a) FROM "
        "(SELECT (x % 3)::VARCHAR || repeat('long', 9) AS a, {} AS b FROM range(10_000) t(x) {})"
    )
    assert plans.rows(query.format("'constant'", "")) == [(True, 3)]
    assert plans.rows(query.format("x::VARCHAR", "WHERE x % 7 = 0")) == [(True, 3)]
    plans.connection.execute(
        "CREATE TABLE e AS SELECT 'k' || (x % 5) || repeat('y', 20) AS k, x FROM range(100_000) t(x)"
    )
    assert plans.rows("SELECT bool_and(join2(k, k) = k || k) FROM e WHERE x % 2 = 0") == [(True,)]
    assert plans.rows(
        "SELECT bool_and(join2(e.k, d.k) = e.k || d.k) FROM e JOIN (SELECT DISTINCT k FROM e) d USING (k)"
    ) == [(True,)]


def test_one_value_for_many_rows_is_sent_once(plans: Caller) -> None:
    """A constant is an array that repeats one value."""
    plans.define("step", {"x": "BIGINT", "k": "BIGINT"}, "BIGINT", "return k.strides[0]")
    for given, expected in (("5", 0), ("(SELECT max(i) FROM range(9) r(i))", 0), ("x", 8)):
        assert plans.rows(f"SELECT DISTINCT step(x, {given}) FROM range(5000) t(x)") == [(expected,)], given


def test_null_is_masked_and_left_out_if_strict(plans: Caller) -> None:
    source = "return numpy.where(numpy.ma.getmaskarray(x), -1, numpy.ma.filled(x, 0))"
    plans.define("called", {"x": "INTEGER"}, "INTEGER", source)
    plans.define("strict", {"x": "INTEGER"}, "INTEGER", f"assert not numpy.ma.isMaskedArray(x)\n{source}", strict=True)
    of = "FROM (SELECT CASE WHEN x % 3 = 0 THEN NULL ELSE x::INTEGER END AS x FROM range(5000) t(x))"
    assert plans.rows(f"SELECT count(*) FILTER (WHERE called(x) = -1) {of}") == [(1667,)]
    assert plans.rows(f"SELECT bool_and(strict(x) IS NOT DISTINCT FROM x) {of}") == [(True,)]
    assert plans.value("SELECT strict(NULL)") is None
    assert plans.value("SELECT called(NULL)") == -1
    plans.define("odd", {"x": "INTEGER"}, "INTEGER", "return numpy.ma.masked_array(x, x % 2 == 0)")
    assert plans.rows("SELECT odd(x::INTEGER) FROM range(4) t(x)") == [(None,), (1,), (None,), (3,)]


def test_what_is_volatile_is_called_for_each_row(plans: Caller) -> None:
    plans.define("lots", {}, "DOUBLE", "return numpy.random.random()", volatility="v")
    plans.define("same", {}, "DOUBLE", "return numpy.random.random()", volatility="i")
    assert plans.value("SELECT count(DISTINCT same()) FROM range(100)") == 1
    plans.define("each", {"x": "BIGINT"}, "DOUBLE", "return numpy.random.random(len(x))", volatility="v")
    assert plans.value("SELECT count(DISTINCT each(1)) FROM range(100)") == 100


def test_a_scalar_parameter_is_a_value(plans: Caller) -> None:
    source = "assert isinstance(factor, int)\nreturn x * factor"
    plans.define("times", {"x": "INTEGER", "factor": "INTEGER"}, "INTEGER", source, scalar=["factor"])
    assert plans.value("SELECT sum(times(x::INTEGER, 3)) FROM range(5000) t(x)") == 37_492_500
    assert plans.value("SELECT sum(times(x::INTEGER, (SELECT 2))) FROM range(10) t(x)") == 90
    failure = plans.failure("SELECT sum(times(x::INTEGER, x::INTEGER)) FROM range(10) t(x)")
    assert (failure["code"], "more than one value" in failure["message"]) == ("22023", True)


def test_an_error_in_the_plan_has_its_full_record(plans: Caller) -> None:
    plans.define("bad", {"x": "INTEGER"}, "INTEGER", "y = x + 1\nraise ValueError('no such thing')")
    failure = plans.failure("SELECT count(*) FROM range(10_000) t(x) WHERE bad(x::INTEGER) = 1")
    assert failure["code"] == "38000"
    assert failure["message"] == "ValueError: no such thing"
    assert failure["detail"] == "raise ValueError('no such thing')"
    assert failure["context"] == 'function "main.bad", line 2'
    assert (failure["line"], failure["source"].splitlines()[1]) == (2, failure["detail"])
    assert plans.session.take_failure("colonnade function error 1: again") is None
    # The database is still open, and the function process too.
    plans.define("rest", {"x": "INTEGER"}, "INTEGER", REST)
    assert plans.value("SELECT rest(101)") == 1


@pytest.mark.parametrize(
    ("result", "source", "code"),
    [
        ("INTEGER", "return x[:-1]", "39000"),
        ("INTEGER", "return set(x.tolist())", "39000"),
        ("INTEGER[]", "return [{1, 2}] * len(x)", "39000"),
        ("TINYINT", "return x + 1000", "22003"),
        ("INTEGER", "return x / numpy.nan", "22004"),
        ("DECIMAL(4,2)", "return [100] * len(x)", "22003"),
        ("VARCHAR", "return ['a\\0b'] * len(x)", "22021"),
        ("INTEGER", "import os; os._exit(3)", "38000"),
        ("INTEGER", "import ctypes; ctypes.string_at(0)", "38000"),
    ],
)
def test_a_wrong_result_is_an_error(plans: Caller, result: str, source: str, code: str) -> None:
    plans.define("wrong", {"x": "INTEGER"}, result, source)
    assert plans.failure("SELECT wrong(x::INTEGER) FROM range(3) t(x)")["code"] == code
    assert plans.value("SELECT 1") == 1


def test_cancelling_and_the_time_limit_end_a_call(processes: _core.FunctionProcesses) -> None:
    loop = "print('begun')\nwhile True: pass"
    with caller(processes) as plans:
        plans.define("loop", {"x": "INTEGER"}, "INTEGER", loop)
        plans.define("rest", {"x": "INTEGER"}, "INTEGER", REST)
        assert plans.value("SELECT rest(101)") == 1
        (process,) = plans.session.process_ids
        timer = threading.Timer(0.3, plans.session.cancel)
        timer.start()
        assert plans.failure("SELECT loop(1)")["code"] == "57014"
        timer.join()
        assert plans.value("SELECT rest(102)") == 2
        assert plans.session.process_ids != [process]
    with pool(timeout=0.3) as limited, caller(limited) as plans:
        plans.define("loop", {"x": "INTEGER"}, "INTEGER", loop)
        failure = plans.failure("SELECT loop(1)")
        assert (failure["code"], "--udf-timeout" in failure["message"]) == ("57014", True)


def test_sessions_at_once_have_processes_of_their_own(processes: _core.FunctionProcesses) -> None:
    source = "import os\nreturn numpy.full(len(x), os.getpid())"
    with caller(processes, threads=2) as one, caller(processes, threads=2) as other:
        found: dict[str, set[object]] = {}

        def call(name: str, plans: Caller) -> None:
            plans.define("process", {"x": "BIGINT"}, "BIGINT", source)
            found[name] = {value for (value,) in plans.rows("SELECT DISTINCT process(x) FROM range(500_000) t(x)")}

        threads = [threading.Thread(target=call, args=pair) for pair in (("one", one), ("other", other))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found["one"] <= {*one.session.process_ids}
        assert found["other"] <= {*other.session.process_ids}
        assert found["one"] and found["other"] and not found["one"] & found["other"]


def test_printed_text_is_taken_once(plans: Caller) -> None:
    plans.define("say", {"x": "INTEGER"}, "INTEGER", "print('hello', len(x))\nreturn x")
    plans.rows("SELECT say(x::INTEGER) FROM range(3) t(x)")
    assert plans.session.take_notices() == "hello 3\n"
    assert plans.session.take_notices() == ""


def test_printed_text_of_a_statement_has_a_limit(plans: Caller) -> None:
    plans.define("say", {"x": "BIGINT"}, "BIGINT", "print('y' * 999)\nreturn x")
    for _ in range(2):
        assert plans.value("SELECT max(say(x)) FROM range(500_000) t(x)") == 499_999
        assert 64_000 < len(plans.session.take_notices()) <= 65_536


def test_a_statement_without_processes_is_refused(processes: _core.FunctionProcesses) -> None:
    with caller(processes) as plans:
        plans.define("rest", {"x": "INTEGER"}, "INTEGER", REST)
        cursor = plans.connection.cursor()
        with pytest.raises(duckdb.Error, match="this connection has no functions"):
            cursor.execute("SELECT rest(1)")
        cursor.close()


def test_threads_of_a_function_run_on_all_cpus(plans: Caller) -> None:
    """Short calls follow the engine's thread to its CPU, and threads inherit the CPU of the one that starts them."""
    body = (
        "import os, threading, time\n"
        "if x[0] < 0:\n"
        "  threading.Thread(target=time.sleep, args=(10,), daemon=True).start()\n"
        "  time.sleep(0.3)\n"
        "  others = [thread.native_id for thread in threading.enumerate() if thread.native_id != os.getpid()]\n"
        "  return numpy.full(len(x), min(len(os.sched_getaffinity(thread)) for thread in others))\n"
        "return numpy.full(len(x), len(os.sched_getaffinity(0)))"
    )
    plans.define("cpus", {"x": "INTEGER"}, "INTEGER", body, volatility="v")
    plans.connection.execute("SET threads = 1")
    short = "SELECT min(cpus(x::INTEGER)) FROM range(200000) t(x)"
    # On a busy machine the calls may take too long for that at first.
    assert any(plans.value(short) == 1 for _ in range(50)), "the process never followed"
    assert plans.value("SELECT cpus(-1)") == len(os.sched_getaffinity(0))
