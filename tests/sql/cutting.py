"""Texts as `core/sql/` cuts them: tokens, statements and the kinds of these."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Sequence
from typing import Any, NamedTuple

from tests.support.examples import example


class Token(NamedTuple):
    text: str
    #: Its first character.
    start: int
    kind: str
    fault: str | None
    #: Of a string.
    value: str | None


class Cut(NamedTuple):
    """A text as `core/sql/` cuts it."""

    tokens: list[Token]
    statements: list[str]
    #: Of each statement, as Rust's `Debug` writes it.
    kinds: list[str]
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


def cuts(dialect: str, texts: Sequence[str]) -> list[Cut]:
    given = "\0".join(texts).encode()
    answer = subprocess.run([example("cut"), dialect], input=given, check=True, capture_output=True).stdout
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
    found = answer["statements"]
    statements = [data[start:end].decode() for start, end, _ in found]
    return Cut(tokens, statements, [kind for *_, kind in found], at(found[-1][1]) if found else 0)


def made(seed: int, count: int, pieces: Sequence[str], most: int = 14) -> list[str]:
    source = random.Random(seed)
    return ["".join(source.choice(pieces) for _ in range(source.randint(1, most))) for _ in range(count)]
