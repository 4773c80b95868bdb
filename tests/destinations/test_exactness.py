"""Every type of every source into every destination: Arrow's value, or an error that names the column."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import colonnade
import pyarrow as pa
import pytest

from tests.destinations import exactness
from tests.destinations import exactness_values as values
from tests.destinations.exactness import DESTINATIONS
from tests.testbed import mariadb
from tests.testbed import postgres as pg
from tests.testbed.serving import serve

#: Names that meant something here once, and odd ones. Not every database has empty names.
NAMES = ["Success", "Count", "count", "indkey", "proargtypes", 'a "b" c', "ünï", "v"]


@pytest.fixture(scope="module")
def in_postgres(stock: pg.Cluster) -> Iterator[colonnade.Connection]:
    with stock.connect() as session:
        session.execute("create database exactness")
    with colonnade.connect(stock.uri("exactness")) as connection:
        for statement in values.POSTGRES_TYPES:
            connection.execute(statement)
        yield connection


@pytest.fixture(scope="module")
def in_extension(extended: pg.Cluster) -> Iterator[colonnade.Connection]:
    with extended.connect() as session:
        session.execute("create database exactness")
    with extended.connect("exactness") as session:
        session.execute("create extension colonnade")
    with colonnade.connect(extended.uri("exactness")) as connection:
        for statement in values.POSTGRES_TYPES:
            connection.execute(statement)
        yield connection


@pytest.fixture(scope="module")
def in_serve() -> Iterator[colonnade.Connection]:
    with serve() as server, colonnade.connect(f"postgresql://tester@{server.host}:{server.port}/test") as connection:
        yield connection


@pytest.fixture(scope="module")
def in_duckdb() -> Iterator[colonnade.Connection]:
    with colonnade.connect("duckdb:///:memory:") as connection:
        # As on a server.
        connection.execute("set TimeZone = 'UTC'")
        yield connection


@pytest.fixture(scope="module")
def in_mysql(maria: mariadb.Server) -> Iterator[colonnade.Connection]:
    maria.run(values.mysql_tables(), "--default-character-set=utf8mb4", mariadb.DATABASE)
    with colonnade.connect(maria.uri()) as connection:
        yield connection


@pytest.fixture(scope="module")
def in_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[colonnade.Connection]:
    path = tmp_path_factory.mktemp("exactness") / "a.sqlite"
    values.sqlite_tables(path)
    with colonnade.connect(f"sqlite:///{path}") as connection:
        yield connection


#: Those whose rows become the same Arrow as the rows of another one stand behind it.
SOURCES: dict[str, tuple[list[values.Case], str | None]] = {
    "in_postgres": (values.POSTGRES, None),
    "in_extension": (values.POSTGRES, "in_postgres"),
    "in_duckdb": (values.DUCKDB, None),
    "in_serve": (values.DUCKDB, "in_duckdb"),
    "in_mysql": (values.MYSQL, None),
    "in_sqlite": (values.SQLITE, None),
}
Tables = dict[values.Case, pa.Table]


@pytest.fixture(scope="module")
def tables(request: pytest.FixtureRequest) -> Callable[[str], Tables]:
    """What a source gives, case by case, each under another name."""

    @functools.cache
    def read(source: str) -> Tables:
        connection: colonnade.Connection = request.getfixturevalue(source)
        cases, _ = SOURCES[source]
        return {
            case: connection.query(case.query(name)).to_arrow()
            for case, name in zip(cases, itertools.cycle(NAMES))
            if not case.is_refused
        }

    return read


def is_named(error: colonnade.Error, name: str) -> bool:
    """Whether an error says which column it is about."""
    escaped = name.replace('"', '\\"')
    forms = (f'column "{name}', f'column "{escaped}', f"column {name!r}", f"Column '{name}'")
    return any(form in error.message for form in forms)


def without_type_names(table: pa.Table) -> list[str]:
    """The schema without the names of types that DuckDB's own files add, so that they stay when they are written."""
    shown = table.schema.to_string(truncate_metadata=False, show_field_metadata=True, show_schema_metadata=True)
    added = ("colonnade.type_name:", "-- field metadata --")
    return [line for line in shown.splitlines() if not line.strip().startswith(added)]


@pytest.mark.parametrize("source", SOURCES)
def test_what_is_refused_is_named(request: pytest.FixtureRequest, source: str) -> None:
    connection: colonnade.Connection = request.getfixturevalue(source)
    cases = [case for case in SOURCES[source][0] if case.is_refused]
    for case, name in zip(cases, itertools.cycle(NAMES)):
        with pytest.raises(colonnade.Error) as caught:
            connection.query(case.query(name)).to_arrow()
        assert is_named(caught.value, name), (case.text, caught.value)


@pytest.mark.parametrize(("source", "like"), [(source, like) for source, (_, like) in SOURCES.items() if like])
def test_two_ways_to_the_same_values(tables: Callable[[str], Tables], source: str, like: str) -> None:
    for (case, one), (_, other) in zip(tables(source).items(), tables(like).items(), strict=True):
        assert without_type_names(one) == without_type_names(other), case
        assert exactness.of_table(one) == exactness.of_table(other), case


@pytest.mark.parametrize(
    "source", [source for source, (_, like) in SOURCES.items() if like is None or "serve" in source]
)
def test_no_value_depends_on_its_columns_name(
    request: pytest.FixtureRequest, tables: Callable[[str], Tables], source: str
) -> None:
    connection: colonnade.Connection = request.getfixturevalue(source)
    for case, table in tables(source).items():
        plain = connection.query(case.query("plain")).to_arrow()
        assert (plain.schema.types, exactness.of_table(plain)) == (table.schema.types, exactness.of_table(table)), case


@pytest.mark.parametrize("destination", DESTINATIONS)
@pytest.mark.parametrize("source", [source for source, (_, like) in SOURCES.items() if like is None])
def test_a_value_is_arrows_or_refused(
    tables: Callable[[str], Tables], source: str, destination: str, tmp_path: Path
) -> None:
    wrong: list[Any] = []
    kept = 0
    for case, table in tables(source).items():
        field, expected = table.schema.field(0), exactness.of_table(table)
        try:
            found = DESTINATIONS[destination](table, tmp_path)
        except colonnade.Error as error:
            if not is_named(error, field.name):
                wrong.append((case.text, field.type, error))
            continue
        except BaseException as error:
            # pyo3's PanicException is no Exception.
            wrong.append((case.text, field.type, repr(error)))
            continue
        kept += 1
        is_same = [exactness.is_same(destination, field, *pair) for pair in zip(found, expected, strict=True)]
        if not all(is_same):
            wrong.append((case.text, field.type, found, expected))
    assert wrong == []
    assert kept > len(tables(source)) / 8
