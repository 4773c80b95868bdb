"""Values of each type through a function that gives them back, with NULLs, in plans and in groups."""

from __future__ import annotations

import pytest
from colonnade_serve import _core

from tests.functions.plans import Caller, caller
from tests.functions.type_values import NESTED, VALUES


@pytest.mark.parametrize("type_", [*VALUES, *NESTED])
def test_a_value_comes_back(plans: Caller, type_: str) -> None:
    plans.define("same", {"x": type_}, type_, "return x", volatility="v")
    plans.define("strict", {"x": type_}, type_, "return x", strict=True)
    values = [*(VALUES | NESTED)[type_], "NULL"]
    listed = ", ".join(f"(CAST({value} AS {type_}))" for value in values)
    plans.connection.execute(f"CREATE TABLE t AS SELECT x, r FROM (VALUES {listed}) v(x), range(700) r(r)")
    for name in ("same", "strict"):
        query = f"SELECT count(*), count_if({name}(x) IS DISTINCT FROM x), any_value(typeof({name}(x))) FROM t {{}}"
        assert plans.rows(query.format("")) == [(700 * len(values), 0, type_)]
        assert plans.rows(query.format("WHERE r % 3 = 1")) == [(233 * len(values), 0, type_)]
    for value in values:
        constant = f"CAST({value} AS {type_})"
        assert plans.value(f"SELECT strict({constant}) IS NOT DISTINCT FROM {constant}") is True


@pytest.mark.parametrize("type_", [*VALUES, *NESTED])
def test_a_value_comes_back_from_its_group(plans: Caller, type_: str) -> None:
    source = "return x[numpy.searchsorted(aggr_group, numpy.arange(aggr_group[-1] + 1))]"
    plans.define("first_one", {"x": type_}, type_, source, kind="aggregate")
    values = [*(VALUES | NESTED)[type_], "NULL"]
    listed = ", ".join(f"({number}, CAST({value} AS {type_}))" for number, value in enumerate(values))
    query = (
        "SELECT count(*), count_if(a IS DISTINCT FROM b) FROM (SELECT first_one(x) AS a, any_value(x) AS b "
        f"FROM (VALUES {listed}) v(n, x), range(150) r(r) GROUP BY n, r % 50)"
    )
    assert plans.rows(query) == [(50 * len(values), 0)]


def test_a_union_comes_back(plans: Caller) -> None:
    union = "UNION(n INTEGER, s VARCHAR)"
    source = "return [('n' if isinstance(v, int) else 's', v) for v in x]"
    plans.define("same", {"x": union}, union, source, strict=True)
    value = f"CASE r % 3 WHEN 0 THEN r::INTEGER::{union} WHEN 1 THEN ('text ' || r)::{union} END"
    query = f"SELECT count_if(same(u) IS DISTINCT FROM u) FROM (SELECT {value} AS u FROM range(500) t(r))"
    assert plans.value(query) == 0


def test_what_a_type_cannot_have_is_an_error(processes: _core.FunctionProcesses) -> None:
    with caller(processes) as plans:
        plans.define("label", {"x": "INTEGER"}, "ENUM('a', 'b')", "return ['c'] * len(x)")
        assert plans.failure("SELECT label(1)")["code"] == "22023"
        plans.define("endless", {"x": "DATE"}, "DATE", "return x")
        assert plans.failure("SELECT endless('infinity'::DATE)")["code"] == "22008"


@pytest.mark.parametrize(
    "type_",
    [
        "VARIANT",
        "VARIANT[]",
        "STRUCT(a VARIANT)",
        "INTEGER[",
        "ENUM()",
        "MAP(INTEGER)",
    ],
)
def test_other_types_are_refused_by_name(type_: str) -> None:
    with pytest.raises(NotImplementedError, match="cannot have the type"):
        _core.define_function("00000000000000ab", "main.t", "scalar", [("x", type_, False)], "INTEGER", "return 1")


@pytest.mark.parametrize("type_", [*VALUES, *NESTED])
def test_a_scalar_argument_comes_back(plans: Caller, type_: str) -> None:
    """As a constant, a value of a subquery, and a column with one value. NULL is None."""
    parameters = {"n": "BIGINT", "x": type_}
    plans.define("same", parameters, type_, "return [x] * len(n)", scalar=["x"])
    plans.define("is_none", parameters, "BOOLEAN", "return x is None", scalar=["x"])
    source = "return [x] * (aggr_group[-1] + 1)"
    plans.define("of_groups", parameters, type_, source, scalar=["x"], kind="aggregate")
    for value in [*(VALUES | NESTED)[type_], "NULL"]:
        constant = f"CAST({value} AS {type_})"
        for given, source in (
            (constant, ""),
            (f"(SELECT {constant})", ""),
            ("x", f", (SELECT {constant} AS x)"),
            ("x", f" JOIN (SELECT {constant} AS x) ON n % 3 = 1"),
        ):
            tests = f"bool_and(same(n, {given}) IS NOT DISTINCT FROM {constant}), bool_and(is_none(n, {given}))"
            expected = (True, value == "NULL")
            assert plans.rows(f"SELECT {tests} FROM range(5000) t(n){source}") == [expected], (given, source)
            groups = f"SELECT of_groups(n, {given}) AS a FROM range(5000) t(n){source} GROUP BY n % 7"
            query = f"SELECT bool_and(a IS NOT DISTINCT FROM {constant}) FROM ({groups})"
            assert plans.value(query) is True, (given, source)


def test_a_scalar_argument_is_compared_with_its_type(plans: Caller) -> None:
    for type_, one, other in (
        ("INTEGER", "0", "NULL"),
        ("VARCHAR", "'a long text of a row'", "'another text of a row'"),
        ("VARCHAR[]", "['a long text of a row']", "['another text of a row']"),
    ):
        plans.define("same", {"n": "BIGINT", "x": type_}, type_, "return [x] * len(n)", scalar=["x"])
        values = f"CASE WHEN n = 4000 THEN CAST({other} AS {type_}) ELSE CAST({one} AS {type_}) END"
        for query in (
            f"SELECT count(same(n, {values})) FROM range(5000) t(n)",
            f"SELECT count(same(n, x)) FROM range(5000) t(n) JOIN (VALUES ({one}), ({other})) v(x) ON n % 2 = 0",
        ):
            failure = plans.failure(query)
            assert (failure["code"], "more than one value" in failure["message"]) == ("22023", True), query
