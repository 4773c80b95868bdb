"""The same rows by every route: beside the plan, within it, and between two statements as a scalar or a table function.

A value goes through Arrow beside the plan, through DuckDB's vectors within it, and through collected columns between
statements.
"""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.types.string import TextLoader

from tests.functions.sessions import connected, rows, server_of
from tests.functions.type_values import NESTED, VALUES
from tests.testbed.serving import Server

server = server_of(())

#: Types whose values Arrow cannot have, so that they are computed within plans.
WITHIN_ONLY = ("UHUGEINT", "INTERVAL")


@pytest.fixture(scope="module")
def session(server: Server) -> Iterator[psycopg.Connection]:
    with connected(server) as connection:
        # The functions change their types between statements, which a prepared statement cannot.
        connection.prepare_threshold = None
        # NaN is not equal to itself, and Python has no nanoseconds.
        for name in ("float4", "float8", "timestamp"):
            connection.adapters.register_loader(name, TextLoader)
        yield connection


def create(session: psycopg.Connection, type_: str, options: str = "") -> None:
    """Functions that give back their argument, by each route."""
    for name, returns, language, body in (
        ("same_map", type_, f"PYTHON_MAP {options}", "return x"),
        ("same_column", type_, f"PYTHON {options}", "return x"),
        # A strict one gives no rows with NULL.
        ("same_rows", f"TABLE(r BIGINT, x {type_})", "PYTHON", "return {'r': r, 'x': x}"),
    ):
        parameters = f"r BIGINT, x {type_}" if name == "same_rows" else f"x {type_}"
        session.execute(f"DROP FUNCTION IF EXISTS {name}".encode())
        session.execute(
            f"CREATE FUNCTION {name}({parameters}) RETURNS {returns} LANGUAGE {language} AS $$ {body} $$".encode()
        )


def check(session: psycopg.Connection, type_: str, values: list[str], count: int) -> None:
    """Compare the rows of all routes with those of the query itself: `count` of them, with NULLs among them."""
    listed = ", ".join(f"({number}, CAST({value} AS {type_}))" for number, value in enumerate([*values, "NULL"]))
    session.execute(
        f"CREATE OR REPLACE TEMP TABLE given AS SELECT r::BIGINT AS r, x FROM range({count}) t(r) "
        f"JOIN (VALUES {listed}) v(n, x) ON r % {len(values) + 1} = n ORDER BY r".encode()
    )
    expected = rows(session, "SELECT r, x FROM given ORDER BY r")
    said: list[str | None] = []
    session.add_notice_handler(remember := lambda notice: said.append(notice.message_primary))
    # The function's whole item runs beside the plan, a part of an expression within it.
    session.execute(b"EXPLAIN SELECT r, same_map(x) FROM given")
    session.remove_notice_handler(remember)
    where = "within" if type_ in WITHIN_ONLY else "beside"
    assert said == [f"functions run {where} the plan: main.same_map"]
    for query in (
        "SELECT r, same_map(x) FROM given",
        "SELECT r, same_map(x) FROM given WHERE r >= 0",
        "SELECT r, x FROM (SELECT r, same_map(x) AS x FROM given)",
        "SELECT r, same_column(x) FROM given",
        "SELECT r, x FROM same_rows((SELECT r, x FROM given))",
    ):
        assert sorted(rows(session, query), key=lambda row: row[0]) == expected, query  # type: ignore[arg-type]


@pytest.mark.parametrize("options", ["", "STRICT"])
@pytest.mark.parametrize("type_", [*VALUES, *NESTED])
def test_each_type(session: psycopg.Connection, type_: str, options: str) -> None:
    create(session, type_, options)
    for count in (0, 5000):
        check(session, type_, (VALUES | NESTED)[type_], count)


NUMBERS = st.integers(-(2**31), 2**31 - 1)
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
GENERATED = {
    "DECIMAL(18,3)": st.decimals(-(10**14), 10**14, places=3, allow_nan=False).map(str),
    "VARCHAR": TEXTS,
    "BLOB": st.binary(max_size=20).map(lambda value: "".join(f"\\x{byte:02X}" for byte in value)),
    "HUGEINT": st.integers(-(2**127) + 1, 2**127 - 1).map(str),
    "UUID": st.uuids().map(str),
    "TIMESTAMP_NS": st.datetimes().map(lambda value: value.replace(year=1700 + value.year % 500).isoformat(" ")),
    "INTEGER[]": st.lists(st.none() | NUMBERS, max_size=5).map(
        lambda items: str(["NULL" if item is None else item for item in items]).replace("'", "")
    ),
}


@pytest.mark.parametrize("type_", GENERATED)
def test_generated_values(session: psycopg.Connection, type_: str) -> None:
    create(session, type_)

    @settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(st.lists(GENERATED[type_], min_size=1, max_size=20))
    def property_(values: list[str]) -> None:
        check(session, type_, ["'" + value.replace("'", "''") + "'" for value in values], 100)

    property_()
