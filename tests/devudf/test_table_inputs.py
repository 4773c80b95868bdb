"""EXPLAIN (INPUTS …) of table functions and of functions that get whole columns, and their local runs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from colonnade_serve._udf_tools.inputs import Description, Inputs
from colonnade_serve._udf_tools.local_table import table_calls

from tests.devudf.projects import Project, rows

Session = psycopg.Connection[Any]

FUNCTIONS = [
    "scaled(i INTEGER, d DOUBLE, n INTEGER DEFAULT 2) RETURNS TABLE(a BIGINT, b DOUBLE) LANGUAGE PYTHON "
    "AS $$ return {'a': i * n, 'b': d} $$",
    "mapped(i INTEGER) RETURNS TABLE(i INTEGER) LANGUAGE PYTHON_MAP AS $$ return {'i': i + 1} $$",
    "joined(i INTEGER, j INTEGER, k VARCHAR) RETURNS TABLE(*) LANGUAGE PYTHON "
    "AS $$ return {'rows': [len(i), len(j)], 'text': [str(i.tolist()), k]} $$",
    "shown(*) RETURNS TABLE(name VARCHAR, type VARCHAR, value VARCHAR) LANGUAGE PYTHON "
    "AS $$ return {'name': list(_columns), 'type': list(_types.values()), 'value': [*map(repr, _columns.values())]} $$",
    "nothing(*) RETURNS TABLE(*) LANGUAGE PYTHON_MAP AS $$ return {'n': [len(_columns)]} $$",
    "strict(i INTEGER, n INTEGER) RETURNS TABLE(i INTEGER) LANGUAGE PYTHON STRICT AS $$ return {'i': i + n} $$",
    "fixed(i INTEGER, n INTEGER) RETURNS TABLE(i INTEGER) LANGUAGE PYTHON SCALAR (n) AS $$ return {'i': i + n} $$",
    "failed(i INTEGER) RETURNS TABLE(i INTEGER) LANGUAGE PYTHON AS $$ raise ValueError('no') $$",
    "centred(i INTEGER) RETURNS DOUBLE LANGUAGE PYTHON AS $$ return i - i.mean() $$",
    "whole(i INTEGER, n INTEGER DEFAULT 1) RETURNS INTEGER LANGUAGE PYTHON STRICT AS $$ return i[::-1] + n $$",
    'clash(query INTEGER, "Batch" INTEGER) RETURNS TABLE(i INTEGER) LANGUAGE PYTHON AS $$ return {"i": query} $$',
]
STATEMENTS = [
    *(f"CREATE FUNCTION {function}" for function in FUNCTIONS),
    "CREATE TABLE t AS SELECT i::INTEGER AS i, i * 1.5::DOUBLE AS d FROM range(5) t(i)",
]


def given(session: Session, statement: str, values: list[Any] | None = None) -> list[tuple[Any, ...]]:
    """The rows without the last column, which says where parameters come from."""
    return [row[:-1] for row in rows(session, statement, values)]


def sources(session: Session, statement: str) -> list[tuple[int, str]]:
    (first, *others) = [row[-1] for row in session.execute(statement.encode()).fetchall()]
    assert all(other is None for other in others)
    return [(int(query), type_) for query, type_ in first]


def test_the_first_row_has_the_values_and_the_others_are_those_of_queries(session: Session) -> None:
    statement = "EXPLAIN (INPUTS scaled) SELECT * FROM scaled((SELECT i, d FROM t WHERE i < 2 ORDER BY i), 3)"
    cursor = session.execute(statement.encode())
    assert cursor.description is not None
    assert [column.name for column in cursor.description] == ["i", "d", "n", "query", "batch", "parameters"]
    assert given(session, statement) == [(None, None, 3, 0, 0), (0, 0.0, None, 1, 0), (1, 1.5, None, 1, 0)]
    assert sources(session, statement) == [(1, "INTEGER"), (1, "DOUBLE"), (0, "INTEGER")]
    # A parameter that is left out has its default.
    statement = "EXPLAIN (INPUTS scaled) SELECT * FROM scaled((SELECT i, d FROM t WHERE false))"
    assert given(session, statement) == [(None, None, 2, 0, 0)]


def test_each_query_has_its_number_and_its_rows(session: Session) -> None:
    statement = "EXPLAIN (INPUTS joined) SELECT * FROM joined((SELECT i FROM t WHERE i < 2), (SELECT i FROM t), 'x')"
    assert Counter(row[-2] for row in given(session, statement)) == {0: 1, 1: 2, 2: 5}
    assert sources(session, statement) == [(1, "INTEGER"), (2, "INTEGER"), (0, "VARCHAR")]
    statement = "EXPLAIN (INPUTS shown) SELECT * FROM shown((SELECT i, d, i::HUGEINT AS h FROM t), size => 3, 'x')"
    assert sources(session, statement)[2:] == [(1, "HUGEINT"), (0, "INTEGER"), (0, "VARCHAR")]
    assert [column.name for column in session.execute(statement.encode()).description or []] == [
        *("i", "d", "h", "size", "arg1"),
        *("query", "batch", "parameters"),
    ]


def test_calls_are_counted_from_within_and_those_before_run(session: Session) -> None:
    nested = "SELECT * FROM failed((SELECT i FROM mapped((SELECT i FROM mapped((SELECT i FROM t))))))"
    first = lambda statement: [row[0] for row in given(session, statement)[1:]]  # noqa: E731
    assert first(f"EXPLAIN (INPUTS mapped) {nested}") == [0, 1, 2, 3, 4]
    assert first(f"EXPLAIN (INPUTS mapped, CALL 2) {nested}") == [1, 2, 3, 4, 5]
    assert first(f"EXPLAIN (INPUTS failed) {nested}") == [2, 3, 4, 5, 6]
    # The statement behind the call does not run.
    assert first("EXPLAIN (INPUTS mapped) SELECT error('no') FROM mapped((SELECT i FROM t))") == [0, 1, 2, 3, 4]
    twice = "SELECT * FROM mapped((SELECT i FROM mapped((SELECT i FROM t))))"
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="has 2 calls of function mapped"):
        session.execute(f"EXPLAIN (INPUTS mapped, CALL 3) {twice}".encode())
    # The next statement calls the function again.
    assert session.execute("SELECT sum(i) FROM mapped((SELECT i FROM t))").fetchone() == (15,)


def test_inputs_are_those_of_the_transaction_and_of_parameters(session: Session) -> None:
    statement = "EXPLAIN (INPUTS scaled) SELECT * FROM scaled((SELECT i, d FROM t WHERE i < %s), %s) WHERE a > %s"
    assert given(session, statement, [1, 9, 5]) == [(None, None, 9, 0, 0), (0, 0.0, None, 1, 0)]
    with session.transaction():
        session.execute("CREATE TEMP TABLE mine AS SELECT 7 AS i")
        found = given(session, "EXPLAIN (INPUTS mapped) WITH w AS (FROM mine) SELECT * FROM mapped((FROM w))")
        assert found[1:] == [(7, 1, 0)]
        session.execute("DROP TABLE mine")


def test_batches_of_a_map_are_those_of_the_server(session: Session) -> None:
    found = given(session, "EXPLAIN (INPUTS mapped) SELECT * FROM mapped((SELECT i::INTEGER FROM range(300000) r(i)))")
    assert [row[0] for row in found[1:]] == list(range(300_000))
    assert Counter(row[-1] for row in found[1:]) == {0: 122_880, 1: 122_880, 2: 54_240}


def test_a_sample_of_each_query_is_uniform_and_repeated_by_its_seed(session: Session) -> None:
    query = "SELECT * FROM joined((SELECT i::INTEGER FROM range(50000) r(i)), (SELECT 1), 'x')"
    one, again, other = (
        given(session, f"EXPLAIN (INPUTS joined, SAMPLE 2000, SEED {seed}) {query}") for seed in (1, 1, 2)
    )
    assert Counter(row[-2] for row in one) == {0: 1, 1: 2000, 2: 1}
    assert one == again != other
    values = [row[0] for row in one[1:-1]]
    assert values == sorted(values) and len(set(values)) == 2000
    counts = Counter(value // 5000 for value in values)
    # A tenth has 200 rows, and the standard deviation is 13.
    assert len(counts) == 10 and all(130 < count < 270 for count in counts.values()), counts
    both = {row[0] for row in one} & {row[0] for row in other}
    assert len(both) < 160
    with pytest.raises(psycopg.errors.SyntaxError, match="only they have groups"):
        session.execute(f"EXPLAIN (INPUTS joined, SAMPLE 2 GROUPS) {query}".encode())


def test_strict_leaves_rows_and_calls_out(session: Session) -> None:
    call = "EXPLAIN (INPUTS strict) SELECT * FROM strict((SELECT nullif(i, 3) FROM t), {})"
    assert [row[0] for row in given(session, call.format("1"))[1:]] == [0, 1, 2, 4]
    assert given(session, call.format("NULL")) == []
    found = session.execute("EXPLAIN (INPUTS whole) SELECT whole(nullif(i, 3)) FROM t").fetchall()
    assert found == [(0, 1, 0), (1, 1, 0), (2, 1, 0), (4, 1, 0)]


def test_names_of_columns_are_free(session: Session) -> None:
    cursor = session.execute("EXPLAIN (INPUTS clash) SELECT * FROM clash((SELECT i, i FROM t))")
    assert cursor.description is not None
    names = [column.name for column in cursor.description]
    assert names == ["query", "Batch", "query_2", "batch_2", "parameters"]


def test_errors_have_their_place_and_end_the_capture(session: Session) -> None:
    statement = "EXPLAIN (INPUTS mapped) SELECT * FROM mapped((SELECT ü FROM t))"
    with pytest.raises(psycopg.errors.UndefinedColumn) as caught:
        session.execute(statement.encode())
    assert caught.value.diag.statement_position == str(statement.rindex("mapped") + 1)
    with pytest.raises(psycopg.errors.UndefinedFunction):
        session.execute("EXPLAIN (INPUTS mapped) SELECT * FROM mapped((SELECT 'a'))")
    with pytest.raises(psycopg.errors.DivisionByZero):
        session.execute("EXPLAIN (INPUTS mapped) SELECT * FROM mapped((SELECT (1 // (i - i))::INTEGER FROM t))")
    assert session.execute("SELECT sum(i) FROM mapped((SELECT i FROM t))").fetchone() == (15,)


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("scaled", "SELECT * FROM scaled((SELECT i, d FROM t ORDER BY i DESC), 3)"),
        ("scaled", "SELECT * FROM scaled((SELECT i, d FROM t WHERE false))"),
        ("mapped", "SELECT * FROM mapped((SELECT i FROM t WHERE false))"),
        ("joined", "SELECT * FROM joined((SELECT nullif(i, 1) FROM t), (SELECT 1 WHERE false), 'x')"),
        ("joined", "SELECT * FROM joined((SELECT i, i + 1 FROM t), NULL)"),
        ("shown", "SELECT * FROM shown((SELECT i, d, i::HUGEINT AS h, NULL AS n FROM t), size => 3, 'x')"),
        ("nothing", "SELECT * FROM nothing((SELECT i FROM t WHERE false))"),
        ("strict", "SELECT * FROM strict((SELECT nullif(i, 3) FROM t), 1)"),
        ("strict", "SELECT * FROM strict((SELECT i FROM t), NULL)"),
        ("fixed", "SELECT * FROM fixed((SELECT i, 7 FROM t))"),
        ("centred", "SELECT i, centred(i) FROM t"),
        ("whole", "SELECT whole(nullif(i, 3)) FROM t"),
    ],
)
def test_local_results_are_those_of_the_server(pulled: Project, session: Session, name: str, query: str) -> None:
    found = json.loads(pulled.done("run", name, "--sql", query, "--check", "--json"))
    assert found["difference"] is None
    if name not in ("centred", "whole"):
        served = session.execute(query.encode()).fetchall()
        assert found["results"] == len(served)
        assert [list(map(str, row)) for row in found["first"]] == [list(map(str, row)) for row in served[:20]]


def test_each_batch_of_a_map_is_a_call() -> None:
    parameters, columns = [("x", "INTEGER", False), ("n", "INTEGER", False)], [("x", "INTEGER")]
    description = Description("f", "table", "python_map", parameters, "INTEGER", False, "", columns, [1, 0])
    names = ["x", "n", "query", "batch"]
    numbers = pa.array([0, 0, 0, 1, 1, 2], pa.int32())
    table = pa.table([[None, 1, 2, 3, 4, 5], [7, *[None] * 5], [0, 1, 1, 1, 1, 1], numbers], names)
    calls = [
        (call.rows, [column.to_pylist() for column in call.columns]) for call in table_calls(Inputs(description, table))
    ]
    assert calls == [(2, [[1, 2], [7]]), (2, [[3, 4], [7]]), (1, [[5], [7]])]
    assert list(table_calls(Inputs(description, table.slice(0, 0)))) == []
    assert list(table_calls(Inputs(description, table.slice(0, 1)))) == []


def test_several_values_for_one_are_refused(pulled: Project) -> None:
    query = "SELECT * FROM fixed((SELECT i, i FROM t))"
    assert 'argument "n" of public.fixed has more than one value' in pulled.failed("run", "fixed", "--sql", query)


def test_a_table_function_is_mended_tested_and_pushed(pulled: Project, session: Session) -> None:
    query = "SELECT * FROM failed((SELECT i FROM t))"
    assert "ValueError: no" in pulled.failed("run", "failed", "--sql", query)
    failure = json.loads(pulled.failed("run", "failed", "--json").partition("\n")[0])
    assert failure["error"] == {"message": "ValueError: no", "line": 4}
    file = pulled.file("failed.py")
    file.write_text(file.read_text().replace("raise ValueError('no')", "return {'i': i * 2}"))
    assert pulled.done("run", "failed", "--save") == "[0]\n[2]\n[4]\n[6]\n[8]\n(5 results)\n"
    assert pulled.done("test").startswith("passed\t")
    pulled.done("push")
    assert session.execute(query.encode()).fetchall() == [(0,), (2,), (4,), (6,), (8,)]
    session.execute(f"CREATE OR REPLACE FUNCTION {FUNCTIONS[7]}".encode())


def test_saved_inputs_keep_what_a_call_needs(pulled: Project) -> None:
    inputs = pulled.root / "saved.arrow"
    query = "SELECT * FROM shown((SELECT i, d FROM t LIMIT 1), 'x')"
    answer = json.loads(pulled.done("inputs", "shown", "--sql", query, "-o", inputs, "--json"))
    assert answer["rows"] == 1
    assert pulled.done("run", "shown", "--inputs", inputs).splitlines()[2] == '["arg1", "VARCHAR", "\'x\'"]'


@pytest.mark.parametrize("is_sealed", [False, True])
def test_inputs_that_end_with_an_error_replace_no_file(pulled: Project, tmp_path: Path, is_sealed: bool) -> None:
    """Rows are written as they arrive, and the error comes behind the first million of them."""
    options: list[Path | str] = []
    if is_sealed:
        pytest.importorskip("cryptography", reason="cryptography is not installed")
        pulled.done("key", tmp_path / "key")
        options = ["--key-file", tmp_path / "key"]
    file = tmp_path / "rows.arrow"
    query = "SELECT * FROM mapped((SELECT if(r < {}, r, error('no'))::INTEGER FROM range(1500000) s(r)))"
    pulled.done("inputs", "mapped", "--sql", query.format(2_000_000), "-o", file, *options)
    before = file.read_bytes()
    assert len(before) > 1_500_000 * 4
    shown = pulled.failed("inputs", "mapped", "--sql", query.format(1_000_000), "-o", file, *options)
    assert "no" in shown and "Traceback" not in shown
    assert file.read_bytes() == before
    assert [found.name for found in tmp_path.iterdir() if found.name.startswith("rows")] == ["rows.arrow"]
