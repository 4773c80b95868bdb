"""The crate `core/sql/` cuts texts as the parsers of the databases do: tokens and statements.

Where a parser refuses a text, there is nothing to compare. Each test says how many texts it compared.
"""

from __future__ import annotations

import random
import re
import sqlite3
from collections.abc import Sequence

import duckdb
import pglast.parser
import pytest

from tests.sql.cutting import Cut, cuts, made
from tests.sql.grammar import WITH_SEMICOLONS

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


def bare(tokens: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Without signs, which `core/sql/` cuts one by one, and without those in front of a number or a name."""
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


@pytest.mark.parametrize("dialect", WITH_SEMICOLONS)
def test_statements_end_where_the_parser_ends_them(dialect: str) -> None:
    source = random.Random(7)
    texts = [
        source.choice([" ; ", ";", "\n;-- ;\n"]).join(source.choices(WITH_SEMICOLONS[dialect], k=source.randint(1, 6)))
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
