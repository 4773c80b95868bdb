"""The end of a session, which is also what DISCARD ALL does: no object of it is left."""

from __future__ import annotations

import gc
from collections import Counter

from colonnade_serve import _core
from colonnade_serve._duckdb.engine import Engine

from tests.functions.engines import client, engine


def own_objects() -> list[object]:
    """All objects of the package's classes, whatever has them."""
    gc.collect()
    ours = ("colonnade.", "colonnade_serve.")
    return [found for found in gc.get_objects() if str(type(found).__module__).startswith(ours)]


def use(database: Engine) -> set[str]:
    """A session that leaves something of each kind. Returns the classes of its objects."""
    before = own_objects()
    known = {id(found) for found in before}
    with client(database) as one:
        one.define("f", {"x": "INTEGER"}, "INTEGER", "return x + 1")
        for _ in range(2):
            assert one.rows("SELECT f(1), f(i::INTEGER) FROM range(1) t(i)") == [(2, 1)]
            assert one.rows("SELECT max(f(i::INTEGER)) FROM range(3) t(i)") == [(3,)]
        one.run("CREATE TEMP TABLE t AS SELECT 1 AS i")
        one.run("SET VARIABLE own = 1")
        one.run("PREPARE own AS SELECT 1")
        one.run("SET integer_division = true")
        one.session.preview(one.allowed("INSERT INTO t VALUES (1) RETURNING i"), 10)
        one.session.describe(one.allowed("SELECT 1"), None)
        one.session.read(one.allowed("SELECT i FROM t"), 10, 1000)
        return {type(found).__name__ for found in own_objects() if id(found) not in known}


def test_no_object_of_an_ended_session_is_left(processes: _core.FunctionProcesses) -> None:
    with engine(processes) as database:
        # What sessions share, such as the definitions of functions.
        use(database)
        before = own_objects()
        known = {id(found) for found in before}
        classes = use(database)
        assert classes >= {"Session", "SessionFunctions", "SessionSettings", "StatementRunner", "TableFunctions"}
        left = Counter(type(found).__name__ for found in own_objects() if id(found) not in known)
        # The number of the catalog's present state, which the engine has.
        assert set(left) <= {"Epoch"}
