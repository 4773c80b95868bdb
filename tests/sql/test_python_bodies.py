"""Where the body of a function in braces ends: where CPython's own tokens say. Each body stands between statements,
which are counted."""

from __future__ import annotations

import sysconfig
import warnings
from pathlib import Path

import pytest
from colonnade._core import count_statements
from hypothesis import example, given, settings
from hypothesis import strategies as st

STANDARD_LIBRARY = Path(sysconfig.get_path("stdlib"))
#: Modules with many kinds of strings, brackets and comments.
MODULES = sorted(path for path in STANDARD_LIBRARY.glob("*.py") if path.stat().st_size < 100_000)
TOKENS = [
    *("'", '"', "'''", '"""', "f'", 'f"', "rf'", "b'", "r'", "f'''", "\\", "{", "}", "{{", "}}", "(", ")", "[", "]"),
    *("#", "\n", "\r", " ", ":", "!r", "!=", "x", "1", ";", "=", "\\N{DASH}", "lambda:", "é", ",", "=", "x", "pass"),
]


def statements(body: str) -> int | None:
    """The statements of a text in which a function with this body is the second one of four."""
    function = f"CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON {{{body}}}"
    return count_statements(f"SELECT 1; {function}; SELECT '}}'; SELECT 2", "duckdb")


def is_body(text: str) -> bool:
    """Whether CPython compiles a text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "body", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def test_the_standard_library_is_read() -> None:
    read = 0
    for path in MODULES:
        source = path.read_text(encoding="utf-8", errors="replace")
        # These have a coding of their own, or are no Python of this version.
        if is_body(source):
            assert statements(source) == 4, path
            read += 1
    assert read > 100


@pytest.mark.parametrize(
    "body",
    [
        "return '}'",
        "return f'{ {1: 2}[x]:>{4}}'",
        "return rf'\\{x}'",
        "# }\nreturn x",
        "return '''\n}'''",
        "x = '\\\\'",
    ],
)
def test_braces_within_a_body_do_not_end_it(body: str) -> None:
    assert statements(body) == 4


@settings(max_examples=1000, deadline=None)
@given(st.lists(st.sampled_from(TOKENS), max_size=14).map("".join))
@example("x = f'{x!r:{x}}'")
@example("'\\\n}'")
def test_a_body_that_cpython_compiles_ends_where_it_ends(body: str) -> None:
    # A comment ends with its line.
    body += "\n"
    if is_body(body):
        assert statements(body) == 4
