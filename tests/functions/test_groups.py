"""Aggregates: groups of any number and size, in all places where an aggregate may stand."""

from __future__ import annotations

import pytest

from tests.functions.plans import Caller

TOTAL = "return numpy.bincount(aggr_group, weights=x).astype('int64')"


def total(plans: Caller, **options: bool) -> str:
    return plans.define("total", {"x": "BIGINT"}, "BIGINT", TOTAL, kind="aggregate", **options)


SIZES = [(1, 1), (1000, 1), (1000, 1000), (200_000, 7), (200_000, 50_000), (1_000_000, 1_000_000)]


@pytest.mark.parametrize(("rows", "groups"), SIZES)
def test_as_many_groups_as_there_are(plans: Caller, rows: int, groups: int) -> None:
    total(plans)
    query = (
        "SELECT count(*), bool_and(a = b) FROM "
        f"(SELECT total(x) AS a, sum(x) AS b FROM range({rows}) t(x) GROUP BY (x * 7919) % {groups})"
    )
    assert plans.rows(query) == [(groups, True)]


def test_rows_of_a_group_stay_in_their_order(plans: Caller) -> None:
    source = "return [''.join(v[aggr_group == g]) for g in range(aggr_group.max() + 1)]"
    identity = plans.define("joined", {"v": "VARCHAR"}, "VARCHAR", source, kind="aggregate")
    of = "FROM (VALUES ('a', 3), ('a long text of a row', 1), ('c', 2)) t(v, n)"
    call = f"colonnade_aggregate('{identity}', colonnade_session(), v ORDER BY n DESC)"
    assert plans.value(f"SELECT {call} {of}") == "aca long text of a row"


def test_filter_distinct_having_rollup(plans: Caller) -> None:
    identity = total(plans)
    own = f"'{identity}', colonnade_session()"
    of = "FROM (SELECT x % 3 AS g, x % 10 AS x FROM range(3000) t(x))"
    query = (
        f"SELECT g, colonnade_aggregate(DISTINCT {own}, x), "
        f"colonnade_aggregate({own}, x) FILTER (WHERE x > 5), sum(DISTINCT x), sum(x) FILTER (WHERE x > 5) "
        f"{of} GROUP BY ROLLUP (g) HAVING total(x) > 0 ORDER BY ALL"
    )
    rows = plans.rows(query)
    assert len(rows) == 4
    for _, distinct, filtered, distinct_sum, filtered_sum in rows:
        assert (distinct, filtered) == (distinct_sum, filtered_sum)


@pytest.mark.parametrize(("rows", "groups"), SIZES)
def test_filter_distinct_rollup_and_over_for_any_number(plans: Caller, rows: int, groups: int) -> None:
    identity = total(plans)
    own = f"'{identity}', colonnade_session()"
    plans.connection.execute(f"CREATE TABLE t AS SELECT x % 5 AS x, (x * 7919) % {groups} AS g FROM range({rows}) t(x)")
    query = (
        f"SELECT count(*), count_if(a IS DISTINCT FROM b), count_if(c IS DISTINCT FROM d) FROM (SELECT "
        f"colonnade_aggregate(DISTINCT {own}, x) AS a, sum(DISTINCT x) AS b, "
        f"colonnade_aggregate({own}, x) FILTER (WHERE x > 2) AS c, sum(x) FILTER (WHERE x > 2) AS d "
        "FROM t GROUP BY ROLLUP (g))"
    )
    assert plans.rows(query) == [(groups + 1, 0, 0)]
    over = "OVER (PARTITION BY g)"
    query = f"SELECT count(*), count_if(a <> b) FROM (SELECT total(x) {over} AS a, sum(x) {over} AS b FROM t)"
    assert plans.rows(query) == [(rows, 0)]


def test_a_group_without_rows_is_null(plans: Caller) -> None:
    identity = total(plans, strict=True)
    assert plans.value("SELECT total(x) FROM range(0) t(x)") is None
    assert plans.value("SELECT total(NULL::BIGINT) FROM range(5)") is None
    call = f"colonnade_aggregate('{identity}', colonnade_session(), x) FILTER (WHERE x % 2 = 0)"
    rows = plans.rows(f"SELECT x % 200 AS g, {call} FROM range(1000) t(x) GROUP BY g ORDER BY g")
    assert [value is None for _, value in rows] == [bool(g % 2) for g, _ in rows if isinstance(g, int)]
    of = "FROM (SELECT CASE WHEN x % 2 = 0 THEN x END AS x FROM range(10) t(x))"
    assert plans.value(f"SELECT total(x) {of}") == 20


def test_null_is_masked_in_groups(plans: Caller) -> None:
    source = "return numpy.bincount(aggr_group, weights=numpy.ma.getmaskarray(x)).astype('int64')"
    plans.define("nulls", {"x": "VARCHAR"}, "BIGINT", source, kind="aggregate")
    query = (
        "SELECT bool_and(a = b) FROM (SELECT nulls(x) AS a, count(*) FILTER (WHERE x IS NULL) AS b "
        "FROM (SELECT g, CASE WHEN g % 5 > g % 3 THEN NULL ELSE g::VARCHAR END AS x FROM range(9000) t(g)) "
        "GROUP BY g % 13)"
    )
    assert plans.value(query) is True


@pytest.mark.parametrize(
    "frame",
    [
        "",
        "ORDER BY x ROWS BETWEEN 9 PRECEDING AND CURRENT ROW",
        "ORDER BY x ROWS BETWEEN 40 PRECEDING AND 25 FOLLOWING",
    ],
)
def test_windows(plans: Caller, frame: str) -> None:
    total(plans)
    over = f"OVER (PARTITION BY x % 3 {frame})"
    query = (
        f"SELECT count(*), bool_and(a = b) FROM (SELECT total(x) {over} AS a, sum(x) {over} AS b FROM range(4000) t(x))"
    )
    assert plans.rows(query) == [(4000, True)]


def test_several_aggregates_and_executions(plans: Caller) -> None:
    total(plans)
    plans.define("middle", {"x": "DOUBLE"}, "DOUBLE", "return [float(numpy.median(x))]", kind="aggregate_per_group")
    query = "SELECT total(x), middle(x::DOUBLE), total(x * 2) FROM range($1) t(x)"
    for rows, expected in ((3, (3, 1.0, 6)), (5, (10, 2.0, 20)), (3, (3, 1.0, 6))):
        assert plans.connection.execute(query, [rows]).fetchone() == expected
    assert plans.rows("SELECT x % 2, middle(x::DOUBLE) FROM range(10) t(x) GROUP BY 1 ORDER BY 1") == [
        (0, 4.0),
        (1, 5.0),
    ]


def test_an_error_of_an_aggregate(plans: Caller) -> None:
    plans.define("bad", {"x": "BIGINT"}, "BIGINT", "raise KeyError('g')", kind="aggregate")
    failure = plans.failure("SELECT bad(x) FROM range(10) t(x)")
    assert (failure["code"], failure["message"]) == ("38000", "KeyError: 'g'")
    plans.define("short", {"x": "BIGINT"}, "BIGINT", "return x[:1]", kind="aggregate")
    assert plans.failure("SELECT short(x) FROM range(10) t(x) GROUP BY x % 2")["code"] == "39000"
    total(plans)
    assert plans.value("SELECT total(x) FROM range(3) t(x)") == 3


def test_a_scalar_parameter_of_an_aggregate(plans: Caller) -> None:
    source = "return numpy.bincount(aggr_group, weights=x).astype('int64') * factor"
    plans.define("times", {"x": "BIGINT", "factor": "BIGINT"}, "BIGINT", source, kind="aggregate", scalar=["factor"])
    assert plans.value("SELECT times(x, 3) FROM range(5000) t(x)") == 37_492_500
    assert plans.failure("SELECT times(x, x) FROM range(5) t(x)")["code"] == "22023"
