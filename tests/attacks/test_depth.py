"""Statements that nest, at depths of 100 to 100,000: refused or answered, and the server stays up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from tests.attacks.attackers import Target, target
from tests.attacks.nested_statements import CONSTRUCTS, DEEP_VALUES, SLOW

DEPTHS = (100, 1000, 10_000, 100_000)


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    options = ("--memory", "1GB", "--threads", "2", "--statement-timeout", "20")
    with target(tmp_path_factory.mktemp("depth"), *options) as running:
        yield running


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_the_server_stays_up(attacked: Target, construct: str) -> None:
    if construct in SLOW:
        pytest.skip("DuckDB takes minutes for it, within its memory")
    worker = attacked.server.worker
    for depth in DEPTHS:
        if depth > DEEP_VALUES.get(construct, depth):
            break
        statement = CONSTRUCTS[construct](depth)
        with attacked.connect("reader") as reader:
            try:
                # Its rows are not the matter, and some are deep.
                reader.execute(f"select count(*) from ({statement})" if construct in DEEP_VALUES else statement)
            except psycopg.Error as error:
                assert error.sqlstate is not None, (depth, error)
        assert attacked.server.worker == worker, depth
        with attacked.connect("reader") as other:
            assert other.execute("select 1").fetchone() == (1,)


# DuckDB does not look at the timeout while it computes a value of 10,000 levels. The server then ends DuckDB's process,
# which takes most of a minute.
@pytest.mark.parametrize(
    ("construct", "depth"),
    [pytest.param("json as variant", 10_000, marks=pytest.mark.long), *((name, 100_000) for name in DEEP_VALUES)],
)
def test_what_a_value_nests_costs_a_worker_at_most(tmp_path: Path, construct: str, depth: int) -> None:
    with target(tmp_path, "--memory", "1GB", "--threads", "2", "--statement-timeout", "1") as attacked:
        with suppress(psycopg.Error), attacked.connect("reader") as reader:
            reader.execute(f"select count(*) from ({CONSTRUCTS[construct](depth)})")
        assert attacked.canary() == ("alive",)


#: A lexer can count these.
NESTING = [
    *("parentheses", "lists", "structs", "rows", "functions", "case", "subqueries", "subqueries in from", "with"),
    *("parentheses in from", "joins in parentheses", "pivot", "unpivot", "lambdas", "comprehensions", "not", "minus"),
    *("plus signs", "tilde", "at signs", "union", "except", "joins", "comma joins", "grouping sets", "describe"),
    *("struct types", "map types", "union types", "case never closed", "lists never closed", "limits", "offsets"),
]


@pytest.mark.parametrize("construct", NESTING)
def test_what_nests_too_deep_never_reaches_the_engine(attacked: Target, construct: str) -> None:
    for depth in (2000, 30_000):
        with attacked.connect("reader") as reader, pytest.raises(psycopg.Error) as error:
            reader.execute(CONSTRUCTS[construct](depth))
        assert error.value.sqlstate == "54001"


@pytest.mark.parametrize("prefix", ["explain ", "explain analyze ", "prepare deep as ", "create temp view deep as "])
def test_nor_within_another_statement(attacked: Target, prefix: str) -> None:
    with attacked.connect("reader") as reader:
        for construct in ("with", "subqueries", "parentheses"):
            with pytest.raises(psycopg.Error) as error:
                reader.execute(prefix + CONSTRUCTS[construct](5000))
            assert error.value.sqlstate == "54001"


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Target]:
    """A server that has the memory left that deep statements take for a while."""
    with target(tmp_path, "--memory", "1GB", "--threads", "2") as running:
        yield running


def test_what_people_write_is_not_refused(fresh: Target) -> None:
    with fresh.connect("writer") as writer:
        writer.execute("create temp table wide (a int, b int)")
        writer.execute("insert into wide values " + ",".join(f"({i},{i})" for i in range(20_000)))
        assert writer.execute("select count(*) from wide").fetchone() == (20_000,)
        listed = ",".join(map(str, range(10_000)))
        assert writer.execute(f"select count(*) from wide where a in ({listed})").fetchone() == (10_000,)
        ored = " or ".join(f"a = {i}" for i in range(500))
        assert writer.execute(f"select count(*) from wide where {ored}").fetchone() == (500,)
        unions = " union all ".join(["select 1"] * 200)
        assert writer.execute(f"select count(*) from ({unions})").fetchone() == (200,)
        columns = ", ".join(f"{i} as c{i}" for i in range(1600))
        assert len(writer.execute(f"select {columns}").fetchone() or ()) == 1600
        joins = " ".join(f"join wide w{i} on w{i}.a = w.a" for i in range(30))
        assert writer.execute(f"select count(*) from (select * from wide limit 5) w {joins}").fetchone() == (5,)
        nested = "(" * 60 + "1" + ")" * 60
        assert writer.execute(f"select {nested}").fetchone() == (1,)


def test_the_length_has_a_limit(fresh: Target) -> None:
    with fresh.connect("reader") as reader:
        with pytest.raises(psycopg.errors.ProgramLimitExceeded, match="--max-statement-bytes"):
            reader.execute("select '" + "x" * 16_000_000 + "'")
        assert reader.execute("select length('" + "x" * 8_000_000 + "')").fetchone() == (8_000_000,)
