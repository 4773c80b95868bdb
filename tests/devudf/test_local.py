"""Functions of files run in this process, on inputs of real queries, with the results that the server has."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import psycopg
import pytest

from tests.devudf.projects import Project, buggy

Session = psycopg.Connection[Any]

TYPES = {
    "BOOLEAN": "true",
    "UTINYINT": "200",
    "HUGEINT": "170141183460469231731687303715884105727",
    "UHUGEINT": "340282366920938463463374607431768211455",
    "FLOAT": "1.25",
    "DECIMAL(20,3)": "12345678901234567.891",
    "DECIMAL(4,1)": "-99.9",
    "VARCHAR": "'ä text that is longer than twelve bytes'",
    "BLOB": "'\\xAA\\x00'",
    "UUID": "'12345678-1234-1234-1234-123456789abc'",
    "DATE": "'2020-02-29'",
    "TIME": "'12:34:56.789'",
    "TIMESTAMP": "'2020-01-01 01:02:03.4'",
    "TIMESTAMP_S": "'2020-01-01 01:02:03'",
    "TIMESTAMP_NS": "'2020-01-01 01:02:03.123456789'",
    "TIMESTAMPTZ": "'2020-01-01 01:02:03+01'",
    "INTERVAL": "'14 months -2 days 3.5 seconds'",
    "INTEGER[]": "[1, NULL, 3]",
    "VARCHAR[]": "['a', NULL]",
    "INTEGER[2]": "[1, 2]",
    "STRUCT(a INTEGER, b VARCHAR)": "{'a': 1, 'b': 'q'}",
    "ENUM('x', 'y')": "'y'",
    "MAP(VARCHAR, INTEGER)": "MAP {'a': 1, 'b': NULL}",
}


def test_arguments_are_those_of_the_server_for_each_type(connection: Session, project: Project) -> None:
    """The function describes its arguments; the server's function processes and this process must describe the same."""
    parameters = ", ".join(f"x{number} {type_}" for number, type_ in enumerate(TYPES))
    body = "return [repr(row) for row in zip(*(column.tolist() for column in _columns.values()))]"
    connection.execute(
        f"CREATE FUNCTION described({parameters}) RETURNS VARCHAR LANGUAGE PYTHON_MAP AS $$ {body} $$".encode()
    )
    project.done("pull")
    names = ", ".join(f"x{number}" for number in range(len(TYPES)))
    row = ", ".join(f"CAST({literal} AS {type_})" for type_, literal in TYPES.items())
    nulls = ", ".join(["NULL"] * len(TYPES))
    query = f"SELECT described({names}) FROM (VALUES ({row}), ({nulls}), ({row})) v({names})"
    lines = project.done("run", "described", "--sql", query, "--check").splitlines()
    assert "170141183460469231731687303715884105727" in lines[0]
    assert lines[0] == lines[2] != lines[1]
    assert lines[-1] == "the server's results are the same"


@pytest.mark.parametrize(
    "type_", ["HUGEINT", "UUID", "INTERVAL", "TIMESTAMPTZ", "STRUCT(a INTEGER, b VARCHAR)", "MAP(VARCHAR, INTEGER)"]
)
def test_results_are_those_of_the_server(connection: Session, project: Project, type_: str) -> None:
    body = "LANGUAGE PYTHON_MAP AS $$ return x $$"
    connection.execute(f"CREATE FUNCTION typed(x {type_}) RETURNS {type_} {body}".encode())
    project.done("pull")
    query = f"SELECT typed(x) FROM (VALUES (CAST({TYPES[type_]} AS {type_})), (NULL)) v(x)"
    lines = project.done("run", "typed", "--sql", query, "--check").splitlines()
    assert lines[0] != lines[1] == "null"
    assert lines[-1] == "the server's results are the same"


def test_a_file_may_call_its_types_by_other_names(connection: Session, project: Project) -> None:
    """The server reads them. A function in another schema, and one with other types, are not meant."""
    body = "LANGUAGE PYTHON_MAP AS $$ return x $$"
    connection.execute("CREATE SCHEMA other")
    for name in ("same", "other.same"):
        parameters = "x DECIMAL(15,2), t VARCHAR"
        connection.execute(f"CREATE FUNCTION {name}({parameters}) RETURNS DECIMAL(15,2) {body}".encode())
    project.done("pull")
    file = project.file("same.py")
    file.write_text(file.read_text().replace("x numeric(15,2), t text", "x decimal(15, 2), t varchar"))
    query = "SELECT same(1.5::DECIMAL(15,2), 'a')"
    assert project.done("run", "public.same", "--sql", query).splitlines()[0] == '{"Decimal": "1.50"}'
    file.write_text(file.read_text().replace("decimal(15, 2), t varchar", "decimal(15, 3), t varchar"))
    assert "the database has no function public.same(decimal(15, 3), varchar)" in project.failed(
        "run", "public.same", "--sql", query
    )
    connection.execute("DROP SCHEMA other CASCADE")


SUMS = "$$ return numpy.bincount(aggr_group, x) $$"
#: What a function is, and its query, if it is not `GROUPED`.
CALLS = {
    "total": (f"AGGREGATE {{}}(x DOUBLE) RETURNS DOUBLE LANGUAGE PYTHON AS {SUMS}", None),
    "top": ("AGGREGATE {}(x DOUBLE) RETURNS DOUBLE LANGUAGE PYTHON_MAP AS $$ return max(x) $$", None),
    "raised": (
        "AGGREGATE {}(x DOUBLE, p INTEGER DEFAULT 2) RETURNS DOUBLE LANGUAGE PYTHON_MAP SCALAR (p) "
        "AS $$ return sum(x ** p) $$",
        None,
    ),
    "strict_total": (
        f"AGGREGATE {{}}(x DOUBLE) RETURNS DOUBLE LANGUAGE PYTHON STRICT AS {SUMS}",
        "SELECT {}(nullif(i, 7)::DOUBLE) FROM range(10) t(i) GROUP BY i % 4",
    ),
    "named": (
        "FUNCTION {}(x INTEGER, y VARCHAR) RETURNS VARCHAR LANGUAGE PYTHON_MAP "
        "AS $$ return [str(_types), str(len(_columns))] * (len(x) // 2) $$",
        "SELECT {}(i::INTEGER, 'a') FROM range(10) t(i)",
    ),
    "many": (
        "FUNCTION {}(x INTEGER) RETURNS BIGINT LANGUAGE PYTHON_MAP AS $$ return x + numpy.int64(1) $$",
        "SELECT {}(i::INTEGER) FROM range(5000) t(i)",
    ),
    "each": (
        "AGGREGATE {}(x DOUBLE) RETURNS DOUBLE[] LANGUAGE PYTHON_MAP AS $$ return x[:2].tolist() $$",
        "SELECT {}(i::DOUBLE) FROM range(10000) t(i) GROUP BY i % 5000",
    ),
    "constant": (
        "FUNCTION {}(x INTEGER, y INTEGER) RETURNS INTEGER LANGUAGE PYTHON_MAP AS $$ return x * y $$",
        "SELECT {}(i::INTEGER, 3) FROM range(10) t(i)",
    ),
}
GROUPED = "SELECT {}(i::DOUBLE) FROM range(10000) t(i) GROUP BY i % 3000"


@pytest.mark.parametrize("name", CALLS)
def test_calls_are_those_of_the_server(connection: Session, project: Project, name: str) -> None:
    statement, query = CALLS[name]
    connection.execute(f"CREATE {statement.format(name)}".encode())
    project.done("pull")
    shown = project.done("run", name, "--sql", (query or GROUPED).format(name), "--check")
    assert shown.endswith("the server's results are the same\n")


def test_a_change_is_run_before_it_is_pushed(connection: Session, project: Project) -> None:
    file = buggy(connection, project)
    query = "SELECT buggy(i::INTEGER) FROM range(3) t(i)"
    shown = project.failed("run", "buggy", "--sql", query)
    assert f'File "{file}", line 5, in buggy' in shown
    assert "NameError: name 'values' is not defined" in shown
    assert "_udf_tools" not in shown
    file.write_text(file.read_text().replace("values[doubled]", "doubled"))
    # The inputs are those that were fetched last.
    assert project.done("run", "buggy") == "0\n2\n4\n(3 results)\n"
    assert "differs" not in project.done("push")
    assert project.done("run", "buggy", "--check").endswith("the server's results are the same\n")
    file.write_text(file.read_text().replace("return doubled", "return doubled + 1"))
    shown = project.failed("run", "buggy", "--check")
    assert shown.endswith("differs: result 1 is 1, and the server's one is 0\n")
    assert (project.root / ".colonnade" / ".gitignore").read_text() == "*\n"


def test_programs_get_an_answer_and_debuggers_the_error(connection: Session, project: Project) -> None:
    file = buggy(connection, project)
    file.write_text(
        file.read_text().replace("values[doubled]", "doubled").replace("doubled = i", "print('x'); doubled = i")
    )
    query = "SELECT buggy(i::INTEGER) FROM range(3) t(i)"
    done = project.udf("run", "buggy", "--sql", query, "--compression", "light", "--json")
    assert json.loads(done.stdout) == {"results": 3, "first": [0, 2, 4], "difference": None}
    assert done.stderr == "x\n"
    file.write_text(file.read_text().replace("return doubled", "raise ValueError('no')"))
    done = project.udf("run", "buggy", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout) == {"error": {"message": "ValueError: no", "line": 5}}
    with pytest.raises(ValueError, match=r"^no$"):
        project.udf("run", "buggy", "--uncaught")
    # An error of the command is still one line.
    assert project.failed("run", "buggy", "--uncaught", "--inputs", "missing").startswith("colonnade: ")


def test_saved_results_are_a_test(connection: Session, project: Project) -> None:
    file = buggy(connection, project)
    file.write_text(file.read_text().replace("values[doubled]", "doubled"))
    assert "there are no saved inputs" in project.failed("test")
    project.done("run", "buggy", "--sql", "SELECT buggy(i::INTEGER) FROM range(3) t(i)", "--save")
    assert project.done("test") == f"passed\t{file}\n"
    file.write_text(file.read_text().replace("return doubled", "return doubled + i"))
    assert "result 2 is 3, and the saved one is 2" in project.failed("test")
    (found,) = json.loads(project.failed("test", "--json"))
    assert found["passed"] is False
    command = [*project.command()[0][:2], "pytest", "-q", str(project.root)]
    done = subprocess.run(command, cwd=project.root, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1
    assert "result 2 is 3, and the saved one is 2" in done.stdout
    assert "1 failed" in done.stdout


def test_other_parameters_than_those_of_the_inputs_are_refused(connection: Session, project: Project) -> None:
    file = buggy(connection, project)
    project.done("inputs", "buggy", "--sql", "SELECT buggy(i::INTEGER) FROM range(3) t(i)")
    file.write_text(file.read_text().replace("(i integer)", "(k integer)").replace("(i)", "(k)"))
    assert "the inputs have the columns i" in project.failed("run", "buggy")
    assert "there are no saved inputs" in project.failed("run", "buggy", "--inputs", "nowhere")
    assert "has no file of a function other" in project.failed("run", "other")
    wrong = project.root / "wrong.arrow"
    wrong.write_bytes(b"no arrow")
    assert "is no file of inputs" in project.failed("run", "buggy", "--inputs", wrong)


def test_inputs_are_encrypted_at_rest(connection: Session, project: Project) -> None:
    pytest.importorskip("cryptography", reason="cryptography is not installed")
    file = buggy(connection, project)
    file.write_text(file.read_text().replace("values[doubled]", "doubled"))
    key, other, inputs = (project.root / name for name in ("key", "other", "inputs.arrow"))
    project.done("key", key)
    assert key.stat().st_mode & 0o777 == 0o600
    assert "File exists" in project.failed("key", key)
    query = "SELECT buggy(i::INTEGER) FROM range(300000) t(i)"
    project.done("inputs", "buggy", "--sql", query, "-o", inputs, "--key-file", key)
    sealed = inputs.read_bytes()
    assert len(sealed) > 3 << 20 and b"ARROW1" not in sealed and b"buggy" not in sealed
    assert project.done("run", "buggy", "--inputs", inputs, "--key-file", key).startswith("0\n2\n4\n")
    assert "pass --key-file" in project.failed("run", "buggy", "--inputs", inputs)
    project.done("key", other)
    assert "this is not its key" in project.failed("run", "buggy", "--inputs", inputs, "--key-file", other)
    part = 8 + 8 + 5 + (1 << 20) + 16
    damaged = {
        "the header changed": b"x" + sealed[1:],
        "the prefix of the nonces changed": sealed[:8] + bytes([sealed[8] ^ 1]) + sealed[9:],
        "a length changed": sealed[:16] + bytes([sealed[16] ^ 1]) + sealed[17:],
        "a byte changed": sealed[:100] + bytes([sealed[100] ^ 1]) + sealed[101:],
        "the end cut off": sealed[:part],
        "the last part cut off": sealed[: part + 5 + (1 << 20) + 16],
        "the last flag set early": sealed[:20] + b"\x01" + sealed[21:part],
        "parts exchanged": sealed[:16] + sealed[part : part + part - 16] + sealed[16:part] + sealed[2 * part - 16 :],
        "bytes added": sealed + b"x",
        "nothing": b"",
    }
    for what, data in damaged.items():
        inputs.write_bytes(data)
        assert str(inputs) in project.failed("run", "buggy", "--inputs", inputs, "--key-file", key), what
    key.chmod(0o644)
    assert "can be read by other users" in project.failed("run", "buggy", "--inputs", inputs, "--key-file", key)
