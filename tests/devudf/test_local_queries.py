"""Queries of functions that run in this process: answered by the server, or from a recording."""

from __future__ import annotations

from typing import Any

import psycopg

from tests.devudf.projects import Project

Session = psycopg.Connection[Any]


def test_queries_of_a_function_are_answered_and_recorded(connection: Session, project: Project) -> None:
    connection.execute("CREATE TABLE IF NOT EXISTS steps AS SELECT 5::HUGEINT AS step, 'a' AS name")
    body = (
        "found = _conn.execute('SELECT step, name FROM steps')\n    return [i + found['step'][0] for i in x.tolist()]"
    )
    connection.execute(
        f"CREATE FUNCTION stepped(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$\n    {body}\n$$".encode()
    )
    project.done("pull")
    assert "def stepped(x, _conn):" in project.file("stepped.py").read_text()
    query = "SELECT stepped(i::INTEGER) FROM range(3) t(i)"
    assert "this query was not recorded" in project.failed("run", "stepped", "--sql", query, "--offline")
    shown = project.done("run", "stepped", "--check")
    assert shown == "5\n6\n7\n(3 results)\nthe server's results are the same\n"
    assert project.done("run", "stepped", "--offline").startswith("5\n6\n7\n")
    key = project.root / "key"
    project.done("key", key)
    (recorded,) = (project.root / ".colonnade/queries").iterdir()
    assert b"ARROW1" in recorded.read_bytes()
    query = "SELECT stepped(i::INTEGER) FROM range(3) t(i)"
    project.done("run", "stepped", "--sql", query, "--key-file", key)
    assert b"ARROW1" not in recorded.read_bytes() and b"step" not in recorded.read_bytes()
    assert project.done("run", "stepped", "--offline", "--key-file", key).startswith("5\n6\n7\n")
    assert "pass --key-file" in project.failed("run", "stepped", "--offline")
    assert "which is not encrypted" in project.failed("run", "stepped", "--key-file", key, "--save")
    assert recorded.stat().st_mode & 0o777 == 0o600
    project.done("run", "stepped", "--sql", query)
    project.done("run", "stepped", "--save")
    elsewhere = Project(project.root, "")
    assert elsewhere.done("test").startswith("passed\t")
    file = project.file("stepped.py")
    file.write_text(file.read_text().replace("SELECT step, name", "SELECT nothing, name"))
    assert "QueryError" in project.failed("run", "stepped")
    file.write_text(file.read_text().replace("SELECT nothing, name FROM steps", "DROP TABLE steps"))
    project.failed("run", "stepped")
    assert connection.execute("SELECT count(*) FROM steps").fetchone() == (1,)
    connection.execute("DROP TABLE steps")


def test_a_query_may_call_another_function(connection: Session, project: Project) -> None:
    """The server calls the function of the query, also a table function; the one of the file runs here."""
    for statement in (
        "FUNCTION inner_one(i INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ return i * 10 $$",
        "FUNCTION rows_of(i INTEGER) RETURNS TABLE(i INTEGER) LANGUAGE PYTHON AS $$ return {'i': i + 1} $$",
        "FUNCTION outer_one(x INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$\n"
        "    found = _conn.execute('SELECT inner_one(i) AS i FROM (SELECT 4::INTEGER AS i)')['i'].tolist()\n"
        "    found += _conn.execute('SELECT i FROM rows_of((SELECT 6::INTEGER))')['i'].tolist()\n"
        "    return [sum(found) + i for i in x.tolist()]\n$$",
    ):
        connection.execute(f"CREATE {statement}".encode())
    project.done("pull")
    query = "SELECT outer_one(i::INTEGER) FROM range(2) t(i)"
    assert connection.execute(query.encode()).fetchall() == [(47,), (48,)]
    shown = project.done("run", "outer_one", "--sql", query, "--check")
    assert shown == "47\n48\n(2 results)\nthe server's results are the same\n"
    # The other functions are those of the server, so a recording does not follow them.
    connection.execute(
        b"CREATE OR REPLACE FUNCTION inner_one(i INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ return i $$"
    )
    assert project.done("run", "outer_one", "--offline").startswith("47\n48\n")
    assert project.done("run", "outer_one").startswith("11\n12\n")
