"""A body comes back from its file byte for byte, and the file's `def` has the same statements."""

from __future__ import annotations

import ast
import os

import pytest
from colonnade_serve._udf.compiled import parse
from colonnade_serve._udf.failures import SourceError
from colonnade_serve._udf_tools.body import BodyError, Layout, to_block
from colonnade_serve._udf_tools.file import FileError, FunctionFile
from hypothesis import HealthCheck, given, settings

from tests.devudf.generated import bodies
from tests.devudf.round_trips import run
from tests.testbed.serving import Server

HEAD = "CREATE FUNCTION public.f(i integer, j text) RETURNS real LANGUAGE python_map"

HOSTILE = [
    " return numpy.sqrt(i) ",
    "\n    x = 1\n    return x\n",
    "x=1\nif x:\n\treturn 2\nreturn x",
    "\n\tif i:\n\t\treturn 1\n\treturn 2\n",
    '  s = """a\nb\n      c"""\n  # c\n# column 0\n  return (i +\n1)\n',
    "return 1 + \\\n 2",
    "\r\n  x = '''a\r\nb'''\r\n  return x\r\n",
    "\rx = 1\rreturn x\r",
    "\fx = 1\nreturn x",
    "\n  \f\n\n  x = 1\n    \n  return x",
    "def g():\n  return 1\nreturn g()  # end  ",
    'return f"""{\n i\n}\n a"""\n',
    "return f\"{i!r:>{j}}\" f'''\n{i\n  + 1}\n'''",
    "  # only\n    # deeper\n  return i\n    # after\n",
    "return i;",
    "#!x\nreturn _conn, aggr_group, _columns\n",
    "if i:\n return 1\nelse:\n return 2",
    "\n\n  '''doc\n  string'''\n  return b'''\\\n x'''",
    "global _columns\nreturn _columns",
    "    return {\n'a': i,\n                'b':\n\tj}\n",
    "x = '\\\n    y'\nreturn x",
    "class A:\n    def f(self):\n\n        return 1\n\n\nreturn A()",
    " return i\n\n\n# after\n   ",
    "# -*- coding: latin-1 -*-\nreturn 'ä€\u2028\x0b'",
    "async def g():\n  pass\nyield i",
    "return 1 if i else(\n2)",
    "\ttry:\n\t  return i\n\texcept* ValueError:\n\t  pass",
]


def check(body: str) -> None:
    """A file of the body has the same bytes and the same statements."""
    file = FunctionFile(HEAD, body, "0123456789abcdef")
    text = file.text()
    found = FunctionFile.read(text)
    assert found.body == body
    assert (found.head, found.pulled, found.id) == (HEAD, file.pulled, file.id)
    assert found.text() == text
    (definition,) = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    assert [ast.dump(one) for one in definition.body] == [ast.dump(one) for one in parse(body)]


@pytest.mark.parametrize("body", HOSTILE)
def test_hostile_bodies_come_back(body: str) -> None:
    check(body)


@settings(
    max_examples=int(os.environ.get("COLONNADE_BODIES", "150")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(bodies())
def test_generated_bodies_come_back(body: str) -> None:
    try:
        FunctionFile(HEAD, body).text()
    except BodyError:
        # Only a text that is no body in Python is refused.
        with pytest.raises(SourceError):
            parse(body)
        return
    check(body)


def test_the_usual_layout_is_not_written() -> None:
    block, layout = to_block("\n    return i\n")
    assert (block, layout) == ("    return i", Layout())
    text = FunctionFile(HEAD, "\n    return i\n", "0123456789abcdef").text()
    assert text == f"# {HEAD}\n# id 0123456789abcdef\ndef f(i, j):\n    return i\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("def f(i):\n    return i\n", 1),
        ("# CREATE TABLE t(i int)\ndef f(i):\n    return i\n", 1),
        (f"# {HEAD}\n# id xyz\ndef f(i):\n    return i\n", 2),
        (f'# {HEAD}\n# id new layout ["x", "", ""]\ndef f(i):\n    return i\n', 2),
        (f"# {HEAD}\nimport os\ndef f(i):\n    return i\n", 2),
        (f"# {HEAD}\ndef f(i):\n    return i\nf(1)\n", 4),
        (f"# {HEAD}\n@cached\ndef f(i):\n    return i\n", 2),
        (f"# {HEAD}\ndef f(i): return i\n", 2),
        (f"# {HEAD}\ndef f(i):\n    return (\n", 3),
        (f"# {HEAD}\nx = 1\n", 2),
    ],
)
def test_a_file_that_is_no_function_is_refused_with_the_line(text: str, line: int) -> None:
    with pytest.raises(FileError) as caught:
        FunctionFile.read(text)
    assert caught.value.line == line


def test_a_def_may_be_written_in_another_way() -> None:
    text = f"# {HEAD}\n\n# a comment\ndef f(\n    i,  # first:\n    j=lambda: 1,\n) -> int:  # c\n    return i\n"
    assert FunctionFile.read(text).body == "\n    return i\n"


def test_a_declaration_is_one_line_whatever_it_has() -> None:
    head = "CREATE FUNCTION public.\"a\nb\"(i text DEFAULT 'x\n# coding: latin-1\\') RETURNS text LANGUAGE python_map"
    file = FunctionFile(head, "return i")
    text = file.text()
    assert text.split("\n")[2] == "def function(i):"
    assert "coding:" not in text.split("\n")[0]
    assert FunctionFile.read(text).head == head


def test_generated_functions_are_pulled_and_pushed(server: Server) -> None:
    """`make test-bodies` does it with 10,000 functions, in several versions of Python."""
    run(f"postgresql://tester@{server.host}:{server.port}/", int(os.environ.get("COLONNADE_FUNCTIONS", "10")), 1)
