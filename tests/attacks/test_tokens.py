"""The fence's lexer and DuckDB's own cut every text into the same tokens, or the fence refuses it."""

from __future__ import annotations

import random
import unicodedata

import duckdb
import pytest
from colonnade_serve._core import Fence, Refused

#: Pieces that lexers disagree about.
PIECES = [
    *("'", '"', "`", "$", "$$", "$a$", "$é$", "$1", "e'", "E'\\'", "x'", "n'", "b'", "u&'", "\\", "''", '""', "``"),
    *("--", "/*", "*/", "-", "/", "*", "\n", "\r", "\t", " ", "\x0b", "\x0c", "\u00a0", "\u200b", "\u3000", "\ufeff"),
    *(
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ";",
        ":",
        "::",
        ":=",
        ".",
        "..",
        "=",
        "=>",
        "->",
        "->>",
        "<",
        "!~~*",
        "@",
        "#",
    ),
    *(
        "a",
        "e",
        "x",
        "_b1",
        "select",
        "read_csv",
        "é",
        "ſ",
        "\u212a",
        "💥",
        "1",
        "1.5",
        ".5",
        "1e5",
        "1e",
        "0x1f",
        "1_0",
    ),
    *("|", "||", "^", "~", "%", "&", "?", "\x01", "\x1f", "\x7f", "\x00", "\u0085", "\u2028", "\u180e", "\u2060"),
]
OPERATORS = frozenset("+-*/<>=~!@#%^&|?:.$,;()[]{}\\")


def ours(sql: str) -> list[tuple[int, str]] | None:
    """Our tokens, or None where the text is refused. The sign of a placeholder, an operator to DuckDB, is left out."""
    try:
        tokens = Fence.tokens(sql)
    except Refused:
        return None
    bare = [(start + 1, text[1:]) if is_placeholder(text) else (start, text) for start, text in tokens]
    return [token for token in bare if token[1] not in OPERATORS]


def is_placeholder(text: str) -> bool:
    return len(text) > 1 and text.startswith("$") and not text.endswith("$")


def engines(sql: str) -> list[tuple[int, str]]:
    """DuckDB's tokens; signs and comments left out."""
    # Its parser makes spaces of these before its lexer sees them.
    spaced = "".join(" " * len(c.encode()) if not c.isascii() and is_engines_space(c) else c for c in sql)
    data, found = spaced.encode(), duckdb.tokenize(spaced)
    ends = [start for start, _ in found[1:]] + [len(data)] * bool(found)
    tokens: list[tuple[int, str]] = []
    for (start, kind), end in zip(found, ends, strict=True):
        text = data[start:end].decode().rstrip(" \t\n\r\x0b\x0c")
        if kind.name in ("operator", "comment") or set(text) <= {"."} or text == "$":
            continue
        # A number may begin with its point.
        points = len(text) - len(text.lstrip(".")) if kind.name == "numeric_const" else 0
        tokens.append((start + points, text[points:]))
    return tokens


SPACES = "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u200b\u202f\u205f\u2060\u3000\ufeff"


def is_engines_space(c: str) -> bool:
    return c in SPACES


def canonical(tokens: list[tuple[int, str]], sql: str) -> list[tuple[int, str]]:
    """With the bytes of the original in quoted tokens, which DuckDB's parser leaves as they are."""
    data = sql.encode()
    return [(start, data[start : start + len(text.encode())].decode()) for start, text in tokens]


@pytest.mark.parametrize("seed", range(20))
def test_mutated_texts_are_cut_alike_or_refused(seed: int) -> None:
    source = random.Random(seed)
    compared = 0
    for _ in range(3000):
        sql = "".join(source.choice(PIECES) for _ in range(source.randint(1, 14)))
        mine = ours(sql)
        if mine is None:
            continue
        compared += 1
        assert canonical(engines(sql), sql) == mine, repr(sql)
    # Most texts of these pieces leave a quote open.
    assert compared > 300


@pytest.mark.parametrize("seed", range(5))
def test_statements_are_cut_alike(seed: int) -> None:
    """Statements as people write them are not refused."""
    source = random.Random(seed)
    words = [
        "select",
        "a",
        "'it''s'",
        '"A b"',
        "$$x$$",
        "1.5",
        "(",
        ")",
        ",",
        "=",
        "-- c\n",
        "/* c */",
        "e'\\n'",
        "t.a",
        "::int",
    ]
    for _ in range(2000):
        sql = " ".join(source.choice(words) for _ in range(source.randint(1, 20)))
        assert canonical(engines(sql), sql) == ours(sql), repr(sql)


def test_every_character_that_duckdb_takes_for_a_space_is_one() -> None:
    """One more space would join or part the names that are checked."""
    candidates = [
        chr(point)
        for point in range(1, 0x11_0000)
        if unicodedata.category(chr(point)) in ("Zs", "Zl", "Zp", "Cf", "Cc")
    ]
    with duckdb.connect() as connection:
        for c in candidates:
            try:
                is_space = len(connection.extract_statements(f"select{c}x{c}from{c}t")) == 1
            except duckdb.Error:
                is_space = False
            try:
                assert is_space == ([text for _, text in Fence.tokens(f"select{c}x")] == ["select", "x"]), hex(ord(c))
            except Refused:
                continue
