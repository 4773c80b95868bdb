"""The crate `sql/` cuts texts as the parsers of the databases do: tokens, statements and the values of strings.

Where a parser refuses a text, there is nothing to compare. Each test says how many texts it compared.
"""

from __future__ import annotations

import functools
import json
import random
import re
import sqlite3
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import colonnade
import duckdb
import pglast.parser
import psycopg
import pytest

from testbed import postgres as pg

ROOT = Path(__file__).parents[2]

#: Pieces that lexers disagree about.
PIECES = [
    *(
        "'",
        '"',
        "`",
        "$",
        "$$",
        "$a$",
        "$é$",
        "$1",
        "$n",
        "e'",
        "E'\\'",
        "x'",
        "n'",
        "b'",
        "u&'",
        'U&"',
        "\\",
        "''",
        '""',
    ),
    *(
        "``",
        "--",
        "/*",
        "*/",
        "-",
        "/",
        "*",
        "#",
        "\n",
        "\r",
        "\t",
        " ",
        "\x0c",
        "[",
        "]",
        "(",
        ")",
        ",",
        ";",
        ";",
        "::",
    ),
    *(
        ".",
        "..",
        "=",
        "->>",
        "<",
        "@",
        ":",
        "?",
        "|",
        "a",
        "e",
        "x",
        "_b1",
        "select",
        "é",
        "💥",
        "1",
        "1.5",
        ".5",
        "1e5",
    ),
    *("1e", "0x1f", "1_0", "1__0", "1..2", "'a'\n", "'b' -- c\n'd'"),
]
#: Words of statements that hold others.
BODIES = ["create", "or replace", "temp", "trigger", "function", "begin", "atomic", "case", "end", "explain", ";"]
SIGNS = frozenset("+-*/<>=~!@#%^&|?:.$,;()[]{}\\`")


class Token(NamedTuple):
    text: str
    #: Its first character.
    start: int
    kind: str
    fault: str | None
    #: Of a string.
    value: str | None


class Cut(NamedTuple):
    """A text as `sql/` cuts it."""

    tokens: list[Token]
    statements: list[str]
    #: Where the last statement ends, in characters.
    end: int

    @property
    def faults(self) -> set[str]:
        return {token.fault for token in self.tokens if token.fault is not None}

    @property
    def has_odd_placeholder(self) -> bool:
        """Whether what stands behind a placeholder may belong to it: `$1.5`, `$e'…'`."""
        return any(token.kind in ("Positional", "Named") and token.fault for token in self.tokens)

    @property
    def code(self) -> list[Token]:
        return [token for token in self.tokens if token.kind not in ("Space", "Comment")]


@functools.cache
def program() -> Path:
    build = [
        "cargo",
        "build",
        "--quiet",
        "--locked",
        "-p",
        "colonnade-sql",
        "--example",
        "cut",
        "--message-format=json",
    ]
    lines = subprocess.run(build, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    executables = [json.loads(line).get("executable") for line in lines]
    return Path(next(executable for executable in executables if executable))


def cuts(dialect: str, texts: Sequence[str]) -> list[Cut]:
    given = "\0".join(texts).encode()
    answer = subprocess.run([program(), dialect], input=given, check=True, capture_output=True).stdout
    return [_cut(text, json.loads(line)) for text, line in zip(texts, answer.splitlines(), strict=True)]


def _cut(text: str, answer: dict[str, Any]) -> Cut:
    data = text.encode()

    def at(byte: int) -> int:
        return len(data[:byte].decode())

    tokens = [
        Token(
            data[start:end].decode(), at(start), kind, fault, None if value is None else bytes.fromhex(value).decode()
        )
        for start, end, kind, fault, value in answer["tokens"]
    ]
    statements = answer["statements"]
    end = at(statements[-1][1]) if statements else 0
    return Cut(tokens, [data[start:end].decode() for start, end in statements], end)


def made(seed: int, count: int, pieces: Sequence[str], most: int = 14) -> list[str]:
    source = random.Random(seed)
    return ["".join(source.choice(pieces) for _ in range(source.randint(1, most))) for _ in range(count)]


def bare(tokens: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Without signs, which `sql/` cuts one by one, and without those in front of a number or a name."""
    found: list[tuple[str, int]] = []
    for text, start in tokens:
        is_dollar_quote = len(text) > 1 and text.endswith("$")
        rest = text if is_dollar_quote else text.lstrip(".$")
        if not set(rest) <= SIGNS:
            found.append((rest, start + len(text) - len(rest)))
    return found


def ours(cut: Cut, *, comments: bool = False) -> list[tuple[str, int]]:
    tokens = cut.tokens if comments else cut.code
    return bare([(token.text, token.start) for token in tokens if token.kind != "Space"])


@pytest.mark.parametrize("seed", range(4))
def test_duckdb_reads_the_same_tokens(seed: int) -> None:
    texts, compared = made(seed, 6000, PIECES), 0
    for text, cut in zip(texts, cuts("duckdb", texts), strict=True):
        # `1e.` and `1..e` are one token to its lexer, which its parser refuses.
        has_points = any(token.kind == "Number" and token.fault and ".." in token.text for token in cut.tokens)
        if (
            has_points
            or cut.has_odd_placeholder
            or cut.faults & {"Unclosed", "Control"}
            or re.search(r"\d[eE](?!\w)", text)
        ):
            continue
        compared += 1
        data, found = text.encode(), duckdb.tokenize(text)
        ends = [start for start, _ in found[1:]] + [len(data)] * bool(found)
        tokens = [
            (data[start:end].decode().rstrip(" \t\n\r\x0b\x0c"), len(data[:start].decode()))
            for (start, kind), end in zip(found, ends, strict=True)
            if kind.name not in ("operator", "comment")
        ]
        assert bare(tokens) == ours(cut), repr(text)
    assert compared > 500


@pytest.mark.parametrize("seed", range(4))
def test_postgresql_reads_the_same_tokens(seed: int) -> None:
    texts, compared = made(seed, 6000, PIECES), 0
    for text, cut in zip(texts, cuts("postgresql", texts), strict=True):
        if cut.has_odd_placeholder:
            continue
        try:
            found = pglast.parser.scan(text)
        except pglast.parser.ParseError:
            continue
        compared += 1
        # N'…' is a keyword and a string to it, as it is to us.
        tokens = [(text[token.start : token.end + 1], token.start) for token in found]
        assert bare(tokens) == ours(cut, comments=True), repr(text)
        assert "Unclosed" not in cut.faults, repr(text)
    assert compared > 500


#: Statements that each database reads, with semicolons where they end nothing.
STATEMENTS = {
    "duckdb": [
        "select ';' as \"a;b\"",
        "select 1 -- ; '\n",
        "/* ; /* ' */ ; */ select e'\\';'",
        "select $$;$$, $x$ $$;'$x$",
        "values (1, 'it''s;')",
        "create table t(i int)",
        "select `a;b` from t",
        "",
    ],
    "postgresql": [
        "select ';' as \"a;b\"",
        "select 1 -- ; '\n",
        "/* ; /* ' */ ; */ select e'\\';'",
        "select $$;$$, $x$ $$;'$x$",
        "select e'a' -- '\n  '\\';'",
        "select u&'\\0061;', U&\"d\\0061t;a\" uescape '!'",
        "create function f() returns int begin atomic select case 1 when 2 then 3 end; select t.end as case; end",
        "create or replace procedure p() begin atomic insert into t values (1); end",
        "create rule r as on insert to t do also (delete from u; delete from v)",
        "create table begin_(atomic int)",
        "begin",
        "end",
        "",
    ],
}


@pytest.mark.parametrize("dialect", STATEMENTS)
def test_statements_end_where_the_parser_ends_them(dialect: str) -> None:
    source = random.Random(7)
    texts = [
        source.choice([" ; ", ";", "\n;-- ;\n"]).join(source.choices(STATEMENTS[dialect], k=source.randint(1, 6)))
        for _ in range(800)
    ]
    for text, cut in zip(texts, cuts(dialect, texts), strict=True):
        if dialect == "duckdb":
            expected = [statement.query for statement in duckdb.extract_statements(text)]
        else:
            expected = list(pglast.parser.split(text, with_parser=True))
        assert len(expected) == len(cut.statements), repr(text)
        for theirs, mine in zip(expected, cut.statements, strict=True):
            assert mine in theirs, repr(text)


@pytest.mark.parametrize("seed", range(4))
def test_sqlite_calls_the_same_texts_complete(seed: int) -> None:
    texts = made(seed, 5000, [*PIECES, *BODIES, *BODIES, *(f"{word} " for word in BODIES)], 16)
    found = {True: 0, False: 0}
    for text, cut in zip(texts, cuts("sqlite", texts), strict=True):
        # To its lexer a comment ends with the text; `sqlite3_complete` waits for the end.
        last = cut.tokens[-1]
        if (
            last.kind == "Comment"
            and last.text.startswith("/*")
            and (not last.text.endswith("*/") or len(last.text) < 4)
        ):
            continue
        code = cut.code[-1:]
        is_complete = bool(code) and code[0].text == ";" and cut.end <= code[0].start
        assert sqlite3.complete_statement(text) == is_complete, repr(text)
        found[is_complete] += 1
    assert min(found.values()) > 100


#: What a string may be made of.
INNER = [
    "a",
    "\\",
    "\\\\",
    "''",
    "\\'",
    '""',
    "\\n",
    "\\x41",
    "\\101",
    "\\u00e9",
    "é",
    "\\%",
    "\\0",
    '"',
    "$",
    "--",
    "/*",
    "'\n'",
]


def strings(seed: int, count: int, quotes: Sequence[tuple[str, str]]) -> list[str]:
    source = random.Random(seed)
    return [
        f"{opening}{''.join(source.choices(INNER, k=source.randint(0, 5)))}{closing}"
        for opening, closing in source.choices(quotes, k=count)
    ]


def agree(texts: Sequence[str], found: Sequence[str | None], dialect: str) -> int:
    """Compares what a database has read, where it has read strings alone, with ours; how many texts that were."""
    compared = 0
    for text, value, cut in zip(texts, found, cuts(dialect, texts), strict=True):
        # DuckDB undoes the escapes of the second string as well, although it cuts it as one without.
        is_joined = dialect == "duckdb" and text.startswith("E") and len(cut.code) > 1
        if value is None or is_joined:
            continue
        compared += 1
        assert {token.kind for token in cut.code} == {"Text"} and not cut.faults, repr(text)
        # Some values are left to the database.
        values = [token.value for token in cut.code]
        assert None in values or "".join(filter(None, values)) == value, repr(text)
    return compared


QUOTES = {
    "duckdb": [("'", "'"), ("E'", "'"), ("$$", "$$"), ("$a$", "$a$")],
    "sqlite": [("'", "'")],
    "postgresql": [("'", "'"), ("E'", "'"), ("$$", "$$"), ("U&'", "'")],
    "postgresql-backslashes": [("'", "'"), ("E'", "'"), ("$$", "$$")],
    "mysql": [("'", "'"), ('"', '"'), ("n'", "'")],
    "mysql-no-backslash-escapes": [("'", "'"), ('"', '"'), ("n'", "'")],
}


def column(description: Any, row: Any) -> str | None:
    """The value of the one column, unless a part of the text has become its name."""
    return row[0] if description[0][0] == "value" and isinstance(row[0], str) else None


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
def test_embedded_databases_read_the_same_strings(dialect: str) -> None:
    texts = strings(3, 1500, QUOTES[dialect])
    found: list[str | None] = []
    connection: Any = duckdb.connect() if dialect == "duckdb" else sqlite3.connect(":memory:")
    for text in texts:
        try:
            cursor = connection.execute(f"select {text} as value")
            found.append(column(cursor.description, cursor.fetchone()))
        except (duckdb.Error, sqlite3.Error):
            found.append(None)
    connection.close()
    assert agree(texts, found, dialect) > 300


@pytest.mark.parametrize("dialect", ["postgresql", "postgresql-backslashes"])
def test_postgresql_reads_the_same_strings(dialect: str, stock: pg.Cluster) -> None:
    texts = strings(3, 1500, QUOTES[dialect])
    found: list[str | None] = []
    with stock.connect() as connection:
        connection.autocommit = True
        connection.execute(f"set standard_conforming_strings = {'off' if 'backslashes' in dialect else 'on'}".encode())
        connection.execute("set escape_string_warning = off")
        for text in texts:
            try:
                cursor = connection.execute(f"select {text} as value".encode())
                found.append(column(cursor.description, cursor.fetchone()))
            except psycopg.Error:
                found.append(None)
    assert agree(texts, found, dialect) > 300


@pytest.mark.parametrize("dialect", ["mysql", "mysql-no-backslash-escapes"])
def test_mariadb_reads_the_same_strings(dialect: str, mysql: colonnade.Connection) -> None:
    texts = strings(3, 1500, QUOTES[dialect])
    found: list[str | None] = []
    mysql.execute(f"set sql_mode = '{'' if dialect == 'mysql' else 'NO_BACKSLASH_ESCAPES'}'")
    for text in texts:
        try:
            table = colonnade.read_sql(f"select {text} as value", mysql, return_type="arrow")
        except colonnade.Error:
            found.append(None)
        else:
            is_value = table.column_names == ["value"]
            found.append(table.column(0)[0].as_py() if is_value else None)
    assert agree(texts, found, dialect) > 300
