"""The way of a statement's text through `colonnade serve`: the functions that take it, in order. A statement is read
once (docs/decisions/0024-one-reading.md), so a new name here needs a reason."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from colonnade_serve._core import AllowedStatement
from colonnade_serve._duckdb.engine import Engine
from colonnade_serve._duckdb.library import Bound
from colonnade_serve._duckdb.session import Session

ROOT = Path(__file__).parents[2] / "serve"
#: Rust's parameters that are the text of a statement.
TEXT = re.compile(r"\b(?:statement|sql|query|reading): &(?:'\w+ )?(?:str|Reading<'_>)")
FUNCTION = re.compile(r"fn (\w+)(?:<[^(]*>)?\(([^{;]*?)\)\s*(?:->|\{|where)", re.S)
TESTS = re.compile(r"#\[cfg\(test\)\]\s*mod tests \{.*", re.S)

#: The functions of each file of Rust that take it, in the order in which a statement comes there.
RUST = {
    # It is split, and translated in passes, which share its tokens.
    "protocol/src/session/query.rs": ["statements"],
    "duckdb/src/session.rs": ["translated", "runnable", "read", "with_values"],
    "duckdb/src/translated.rs": ["new", "of"],
    "duckdb/src/catalog/jsonb.rs": ["arrows", "operators"],
    "duckdb/src/catalog.rs": ["parameter_types", "edits"],
    "duckdb/src/rows.rs": ["edits", "may_compare"],
    "duckdb/src/spellings.rs": ["edits"],
    "duckdb/src/unconstrained.rs": ["edits"],
    "duckdb/src/constraint_names.rs": ["edits"],
    "duckdb/src/divisions.rs": ["edits", "of_parameters", "of"],
    "duckdb/src/literal.rs": ["edits", "cast", "of_type", "with_type_before"],
    "duckdb/src/catalog/served_database.rs": ["edits"],
    # Of statements with aggregates, parameters, literals whose types are open, or table functions.
    "duckdb/src/aggregates.rs": ["edits", "write"],
    "duckdb/src/literal/open.rs": ["may_be_open", "row_casts", "typed"],
    "duckdb/src/outline.rs": ["of"],
    "duckdb/src/nested_limits.rs": ["find"],
    "duckdb/src/placeholder.rs": ["find"],
    "duckdb/src/describe.rs": ["outlined"],
    "duckdb/src/tables.rs": ["may_call_tables", "next_call", "inputs"],
    # Of statements that become several.
    "duckdb/src/truncate.rs": ["read"],
    "duckdb/src/definitions/reading.rs": ["read"],
    "duckdb/src/create.rs": ["run_own", "first_column"],
    "duckdb/src/repeated.rs": ["rows_before", "is_concurrent"],
    "duckdb/src/repeated/clauses.rs": ["new"],
    "duckdb/src/repeated/returning.rs": ["run_with"],
    # What DuckDB will read passes the fence.
    "duckdb/src/fenced.rs": ["check_size"],
    "duckdb/src/fence.rs": ["check", "check_length", "check_size"],
    "duckdb/src/fence/tokens.rs": ["tokens"],
    "duckdb/src/fence/form.rs": ["form"],
    "duckdb/src/fence/statement.rs": ["read"],
    # Queries of functions come in here, and go the same way.
    "bridge/src/serve/own_connection.rs": ["query"],
    "bridge/src/serve/siblings.rs": ["query"],
    # Errors get positions.
    "duckdb/src/errors.rs": ["error", "is_row_lock", "position", "position_of_name"],
}
#: The functions of `_duckdb/` that take the text of a query, or what has it, when it runs for the first time.
FIRST = [
    "session.execute",
    "session._execute",
    "runner.run_remembered",
    "remembered.find",
    "runner.bound",
    "statement_check.check",
    "library.bind",
    "runner.run_noted",
    "catalog_epoch.running",
    "runner.run",
    "catalog.of",
    "catalog.needs_no_conversion",
    "runner._stream",
    "column_names.column_names",
    "library.rows",
    "remembered.keep",
]
#: The same when it runs again.
AGAIN = ["session.execute", "session._execute", "runner.run_remembered", "remembered.find", "library.rows"]


def way(session: Session, sql: str) -> list[str]:
    """The functions that take the text of a statement while it runs."""
    statement = session.statement_check.allowed(sql)
    found: list[str] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_globals.get("__name__", "")
        if event != "call" or not name.startswith("colonnade_serve._duckdb."):
            return
        code = frame.f_code
        arguments = [frame.f_locals[name] for name in code.co_varnames[: code.co_argcount] if name in frame.f_locals]
        takes = any(argument == sql or isinstance(argument, AllowedStatement | Bound) for argument in arguments)
        one = f"{name.rpartition('.')[2]}.{code.co_name}"
        if takes and one not in found and code.co_name not in ("__init__", "counted", "is_query"):
            found.append(one)

    sys.setprofile(note)
    try:
        session.execute(statement, 1000, 1 << 20, None)
    finally:
        sys.setprofile(None)
        session.finish()
    return found


def test_a_query_goes_one_way_through_python() -> None:
    engine = Engine(":memory:")
    session = engine.session()
    try:
        assert way(session, "SELECT 1 AS n") == FIRST
        assert way(session, "SELECT 1 AS n") == AGAIN
    finally:
        session.close()
        engine.close()


def takers(file: Path) -> list[str]:
    text = TESTS.sub("", file.read_text())
    return list(dict.fromkeys(name for name, parameters in FUNCTION.findall(text) if TEXT.search(parameters)))


def test_functions_of_rust_that_take_a_statement_are_listed() -> None:
    places = ("duckdb/src/**/*.rs", "bridge/src/serve/*.rs", "bridge/src/serve.rs", "protocol/src/session/query.rs")
    files = [file for place in places for file in ROOT.glob(place) if file.name != "tests.rs"]
    found = {file.relative_to(ROOT).as_posix(): names for file in files if (names := takers(file))}
    assert found == RUST
