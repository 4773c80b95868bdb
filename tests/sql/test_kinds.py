"""The crate `core/sql/` reads the kinds of statements as the parsers of DuckDB and PostgreSQL do."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import duckdb
import pglast.parser
import pytest

from tests.sql.cutting import cuts
from tests.sql.grammar import WITH_SEMICOLONS, statements

#: DuckDB's types, and the kinds of their statements: a variant of `StatementKind`, and the word that some have.
DUCKDB = {
    "SELECT": {"Query", "Show", "Other SHOW", "Other DESCRIBE", "Other SUMMARIZE", "Other UNPIVOT"},
    # A PIVOT whose values are found first.
    "MULTI": {"Other PIVOT"},
    "INSERT": {"Insert"},
    "UPDATE": {"Update"},
    "DELETE": {"Delete", "Other TRUNCATE"},
    "MERGE_INTO": {"Merge"},
    "COPY": {"Copy"},
    # COPY FROM DATABASE, which DuckDB rewrites; statements that DuckDB runs as functions.
    "PRAGMA": {"Other PRAGMA", "Other IMPORT", "Copy"},
    "SET": {"Set", "Reset", "Other SET", "Other RESET", "Other USE", "Other PRAGMA"},
    "TRANSACTION": {"Begin", "Start", "Commit", "Rollback"},
    "CREATE": {"CreateTable", "Define CREATE"},
    "DROP": {"Define DROP", "Deallocate"},
    "ALTER": {"Define ALTER", "Other COMMENT"},
    "PREPARE": {"Prepare"},
    "EXECUTE": {"Other EXECUTE"},
    "EXPLAIN": {"Explain"},
    "VACUUM": {"Other VACUUM", "Other ANALYZE"},
    "CALL": {"Other CALL", "Other CHECKPOINT", "Other FORCE"},
    "ATTACH": {"Other ATTACH"},
    "DETACH": {"Other DETACH"},
    "EXPORT": {"Other EXPORT"},
    "LOAD": {"Other LOAD", "Other INSTALL"},
}

#: The same for the nodes of PostgreSQL's trees. The others are `DEFINITIONS`, or have no kind of their own: `Other`.
POSTGRESQL = {
    "SelectStmt": {"Query"},
    "InsertStmt": {"Insert"},
    "UpdateStmt": {"Update"},
    "DeleteStmt": {"Delete"},
    "MergeStmt": {"Merge"},
    "CopyStmt": {"Copy"},
    "DeclareCursorStmt": {"Cursor"},
    "FetchStmt": {"Cursor"},
    "ClosePortalStmt": {"Cursor"},
    "VariableShowStmt": {"Show"},
    # Other grammar than `SET name TO value`: SET ROLE.
    "VAR_SET_VALUE": {"Set", "Other SET"},
    "VAR_SET_DEFAULT": {"Set", "Other SET"},
    "VAR_SET_MULTI": {"SetTransaction"},
    "VAR_RESET": {"Reset"},
    "VAR_RESET_ALL": {"Reset"},
    "TRANS_STMT_BEGIN": {"Begin"},
    "TRANS_STMT_START": {"Start"},
    "TRANS_STMT_COMMIT": {"Commit"},
    "TRANS_STMT_ROLLBACK": {"Rollback"},
    "TRANS_STMT_SAVEPOINT": {"Savepoint"},
    "TRANS_STMT_RELEASE": {"Savepoint"},
    "TRANS_STMT_ROLLBACK_TO": {"Savepoint"},
    "TRANS_STMT_PREPARE": {"Other PREPARE"},
    "TRANS_STMT_COMMIT_PREPARED": {"Other COMMIT"},
    "TRANS_STMT_ROLLBACK_PREPARED": {"Other ROLLBACK"},
    # Without a list of columns: LIKE, OF, PARTITION OF.
    "CreateStmt": {"CreateTable", "Define CREATE"},
    "PrepareStmt": {"Prepare"},
    "DeallocateStmt": {"Deallocate"},
    "DiscardStmt": {"Discard"},
    "ListenStmt": {"Notification"},
    "NotifyStmt": {"Notification"},
    "UnlistenStmt": {"Notification"},
    "ExplainStmt": {"Explain"},
}
DEFINITIONS = re.compile(r"(Create|Drop|Alter|View|Index|Rule|Rename|Define)\w*Stmt")


def shown(kind: str) -> str:
    """`Query { has_with: false }` as `Query`, `Define { verb: "CREATE", … }` as `Define CREATE`."""
    variant = re.match(r"\w+", kind)
    assert variant is not None
    word = re.search(r'"(\w*)"', kind) if variant[0] in ("Define", "Other") else None
    return variant[0] if word is None else f"{variant[0]} {word[1]}"


def duckdb_type(text: str) -> tuple[str, Any]:
    (statement,) = duckdb.extract_statements(text)
    return statement.type.name, None


def postgresql_node(text: str) -> tuple[str, Any]:
    """The name of the tree's node, or of its variant; and the tree."""
    (statement,) = json.loads(pglast.parser.parse_sql_json(text))["stmts"]
    ((name, tree),) = statement["stmt"].items()
    return (tree["kind"] if name in ("VariableSetStmt", "TransactionStmt") else name), tree


PARSERS: Mapping[str, Callable[[str], tuple[str, Any]]] = {"duckdb": duckdb_type, "postgresql": postgresql_node}


@pytest.mark.parametrize("dialect", PARSERS)
@pytest.mark.parametrize("seed", range(3))
def test_a_statement_is_of_the_kind_that_the_parser_finds(dialect: str, seed: int) -> None:
    texts = [*statements(dialect, seed, 4000), *filter(None, WITH_SEMICOLONS[dialect])]
    compared = Counter[str]()
    for text, cut in zip(texts, cuts(dialect, texts), strict=True):
        try:
            theirs, tree = PARSERS[dialect](text)
        except (duckdb.Error, pglast.parser.ParseError):
            continue
        (kind,) = cut.kinds
        mine = shown(kind)
        if dialect == "duckdb":
            assert mine in DUCKDB[theirs], f"{theirs}, {kind}: {text!r}"
        elif theirs in POSTGRESQL:
            assert mine in POSTGRESQL[theirs], f"{theirs}, {kind}: {text!r}"
        else:
            group = "Define" if DEFINITIONS.fullmatch(theirs) else "Other"
            assert mine.startswith(group), f"{theirs}, {kind}: {text!r}"
        if theirs == "ExplainStmt":
            runs = any(option["DefElem"]["defname"] == "analyze" for option in tree.get("options", []))
            assert runs == ("runs: true" in kind), repr(text)
        compared[theirs] += 1
    expected = DUCKDB if dialect == "duckdb" else POSTGRESQL
    assert set(expected) <= set(compared)
    assert compared.total() > 2000
