"""A body comes back from its file byte for byte, and the file's `def` has the same statements."""

from __future__ import annotations

import ast
import os

import pytest
from colonnade._devudf.body import BodyError, Layout, to_block
from colonnade._devudf.file import FileError, FunctionFile
from colonnade._udf.compiled import parse
from colonnade._udf.failures import SourceError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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


LETTERS = st.sampled_from(["a", " ", "\t", "\n", "    ", "#", "{{", "}}", "\\\\", "é", ":", "    x = 1\n", ")", "\f"])
TEXTS = st.lists(LETTERS, max_size=8).map("".join)


@st.composite
def values(draw: st.DrawFn) -> str:
    """An expression, which may have several lines."""
    kind = draw(st.integers(0, 6))
    text = draw(TEXTS)
    blank = draw(st.sampled_from(["", " ", "\t", "            "]))
    return [
        "i",
        f"'''{text}'''",
        f'f"""{text}{{i}}{text}"""',
        f"(i,\n{blank}j,{blank}# c\n)",
        f"[\n{blank}i\n\n{blank}for i in j]",
        f"i + \\\n{blank}1",
        f'f"""{{\n{blank}i\n}}{text}"""',
    ][kind]


@st.composite
def blocks(draw: st.DrawFn, depth: int = 0, indent: str = "") -> str:
    """The statements of a block, all with this indentation."""
    found = ""
    for _ in range(draw(st.integers(1, 3))):
        if draw(st.booleans()):
            found += draw(st.sampled_from(["\n", "   \n", "\t\n", "# column 0\n", f"{indent}  # more\n"]))
        if depth < 3 and draw(st.booleans()):
            head = draw(st.sampled_from(["if i:", "for k in j:", "def g(a):", "while i:  # c", "with i as k:"]))
            deeper = indent + draw(st.sampled_from([" ", "  ", "    ", "\t"]))
            found += f"{indent}{head}\n{draw(blocks(depth + 1, deeper))}"
        else:
            statement = draw(st.sampled_from(["x = {}", "return {}", "x = {}; y = 2", "{}"]))
            found += indent + statement.format(draw(values())) + "\n"
    return found


@st.composite
def bodies(draw: st.DrawFn) -> str:
    indent = draw(st.sampled_from(["", "", " ", "    ", "\t", "      "]))
    body = draw(blocks(indent=indent))
    before = draw(st.sampled_from(["", "\n", "\n\n", "   \n"]))
    after = draw(st.sampled_from(["", "\n", "  ", "\n    ", "\n\n# last"]))
    end = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    return (before + body.rstrip("\n") + after).replace("\n", end)


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
