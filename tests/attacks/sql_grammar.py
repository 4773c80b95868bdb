"""Statements at random: DuckDB's functions with arguments of fitting and of odd types, its keywords, statements in
statements, and what was used against the server before. `fuzz_statements.py` sends them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import duckdb

from tests.attacks.nested_statements import CONSTRUCTS
from tests.attacks.sql_words import (
    AGGREGATED,
    AROUND,
    ARRAYS,
    CASTS,
    LISTS,
    OPERATORS,
    SPACES,
    STATEMENTS,
    TYPES,
    VALUES,
    WORDS,
)

T = TypeVar("T")


@dataclass(frozen=True)
class Function:
    """An overload of a function."""

    name: str
    #: As DuckDB names it: scalar, aggregate, macro, table, ….
    kind: str
    arguments: tuple[str, ...]
    names: tuple[str, ...]
    varargs: str | None


def functions(is_allowed: Callable[[str], bool]) -> tuple[list[Function], list[Function]]:
    """DuckDB's functions: those that everybody may call, and the others."""
    query = """select function_name, function_type, parameter_types, parameters, varargs from duckdb_functions()
               where database_name = 'system' order by all"""
    with duckdb.connect() as connection:
        rows = connection.execute(query).fetchall()
    allowed: list[Function] = []
    others: list[Function] = []
    for name, kind, types, names, varargs in rows:
        found = Function(name, kind, tuple(str(type_) for type_ in types), tuple(names), varargs)
        (allowed if is_allowed(name) else others).append(found)
    return allowed, others


def keywords() -> list[str]:
    with duckdb.connect() as connection:
        return [
            word for (word,) in connection.execute("select keyword_name from duckdb_keywords() order by 1").fetchall()
        ]


class Grammar:
    """Statements of one random source: the same source gives the same statements."""

    def __init__(self, seed: str, is_allowed: Callable[[str], bool]) -> None:
        self.random = random.Random(seed)
        allowed, self.others = functions(is_allowed)
        # A name each, then one of its overloads: some have very many.
        by_kind: dict[str, dict[str, list[Function]]] = {"table": {}, "other": {}}
        for function in allowed:
            kind = "table" if function.kind in ("table", "table_macro") else "other"
            by_kind[kind].setdefault(function.name, []).append(function)
        self.tables = list(by_kind["table"].values())
        # The functions of a family do the same; each would be one of a hundred otherwise.
        families = ("collate_", "icu_collate_", "pg_", "has_", "duckdb_")
        scalars = by_kind["other"].items()
        grouped = [[found for name, found in scalars if name.startswith(family)] for family in families]
        self.scalars = [found for name, found in scalars if not name.startswith(families)]
        self.scalars += [[function for found in group for function in found] for group in grouped if group]
        self.keywords = keywords()

    def one_of(self, items: tuple[T, ...] | list[T]) -> T:
        return items[int(self.random.random() * len(items))]

    def once_in(self, times: float) -> bool:
        return self.random.random() * times < 1

    def value(self, type_: str, depth: int) -> str:
        """Something of a type, mostly."""
        if self.once_in(12):
            type_ = self.one_of(TYPES) if self.once_in(2) else self.one_of(tuple(VALUES))
        if depth > 0 and self.once_in(5):
            return self.call(depth - 1)
        if self.once_in(20):
            return "null::" + self.one_of(CASTS) if self.once_in(2) else "null"
        if type_.endswith("[]"):
            if self.once_in(3):
                return self.one_of(LISTS)
            return "[" + ", ".join(self.value(type_[:-2], depth - 1) for _ in range(self.random.randint(0, 3))) + "]"
        if type_.endswith("]"):
            return self.one_of(ARRAYS)
        name = type_.partition("(")[0]
        if name not in VALUES:
            name = self.one_of(TYPES)
        return self.one_of(VALUES[name])

    def called(self, function: Function, depth: int) -> str:
        types = list(function.arguments)
        if function.kind in ("table", "pragma") and len(types) > 3:
            types = types[: self.random.randint(1, 3)]
        if function.varargs:
            types += [function.varargs] * self.random.randint(0, 3)
        if self.once_in(12):
            types = [self.one_of(TYPES) for _ in range(self.random.randint(0, 4))]
        arguments = [self.value(type_, depth) for type_ in types]
        if self.once_in(25) and function.names:
            arguments.append(f"{self.one_of(function.names)} := {self.value('ANY', 0)}")
        distinct = "distinct " if function.kind == "aggregate" and self.once_in(8) else ""
        order = " order by i desc" if function.kind == "aggregate" and self.once_in(8) else ""
        name = function.name if function.name.isidentifier() and not self.once_in(20) else f'"{function.name}"'
        call = f"{name}({distinct}{', '.join(arguments)}{order})"
        if function.kind in ("aggregate", "window"):
            call += self.one_of(AGGREGATED)
        return call

    def call(self, depth: int = 2) -> str:
        function = self.one_of(self.others) if self.once_in(60) else self.one_of(self.one_of(self.scalars))
        return self.called(function, depth)

    def expression(self) -> str:
        kind = self.random.random()
        if kind < 0.62:
            return self.call()
        type_ = self.one_of(TYPES)
        if kind < 0.74:
            cast = self.one_of(("cast", "try_cast"))
            return f"{cast}({self.value(type_, 1)} as {self.one_of(CASTS)})"
        if kind < 0.92:
            other = type_ if self.once_in(2) else self.one_of(TYPES)
            return f"({self.value(type_, 1)}) {self.one_of(OPERATORS)} ({self.value(other, 1)})"
        if kind < 0.96:
            bounds = ", ".join(self.value("BIGINT", 0) for _ in range(2)).replace(", ", ":")
            return f"({self.one_of(LISTS)})[{bounds}]"
        return self.value("STRUCT", 0) + "." + self.one_of(("a", "b", "*"))

    def query(self) -> str:
        kind = self.random.random()
        if kind < 0.45:
            return f"select {self.expression()}" + self.one_of(("", " from t", "", " from range(5) r(i)"))
        if kind < 0.60:
            source = self.one_of(("t", "range(3) r(i)", "(select i, i::varchar as s from range(3000) r(i))", "odd"))
            where = f" where {self.expression()}" if self.once_in(4) else ""
            group = self.one_of(("", "", " group by all", " group by rollup (i)", " group by i having true"))
            order = self.one_of(("", "", " order by all", f" order by {self.expression()}", " limit 2"))
            return f"select {self.expression()}, {self.expression()} from {source}{where}{group}{order}"
        if kind < 0.76:
            function = self.one_of(self.one_of(self.tables)) if not self.once_in(20) else self.one_of(self.others)
            return f"from {self.called(function, 0)}" + self.one_of(("", " limit 3", " t(i), t"))
        if kind < 0.82:
            return f"values ({self.expression()}), ({self.expression()})"
        if kind < 0.87:
            # The time of SUMMARIZE grows with each that is in another, and DuckDB does not stop it while it plans.
            name = self.one_of(list(CONSTRUCTS))
            return CONSTRUCTS[name](self.one_of((2, 5, 12) if name == "summarize" else (2, 5, 12, 30, 100)))
        if kind < 0.92:
            return f"select i, {self.expression()} from odd join t using (i) " + self.one_of(
                ("", "order by 2", "qualify row_number() over () = 1")
            )
        if kind < 0.96:
            sets = ("union all", "union", "except", "intersect all", "union by name")
            return f"{self.query()} {self.one_of(sets)} {self.query()}"
        step = f"select i + 1 from r where i < 20 and {self.expression()}"
        return f"with recursive r(i) as (select 1 union all {step}) from r"

    def soup(self) -> str:
        words = [
            self.one_of(self.keywords) if self.once_in(2) else self.one_of(WORDS)
            for _ in range(self.random.randint(2, 20))
        ]
        return self.one_of(("select", "from", "with", "explain", self.one_of(self.keywords))) + " " + " ".join(words)

    def mutated(self, statement: str) -> str:
        """With words taken out, doubled, or put elsewhere."""
        words = statement.split(" ")
        for _ in range(self.random.randint(1, 3)):
            at = self.random.randrange(len(words))
            change = self.random.random()
            if change < 0.3:
                words[at] = self.one_of(self.keywords)
            elif change < 0.5:
                words.insert(at, self.one_of(words))
            elif change < 0.7:
                words[at] = words[at] + self.one_of(WORDS)
            elif len(words) > 1:
                del words[at]
        return " ".join(words)

    def statement(self) -> str:
        kind = self.random.random()
        statement = self.query() if kind < 0.80 else self.one_of(STATEMENTS) if kind < 0.96 else self.soup()
        while self.once_in(4):
            statement = self.one_of(AROUND).replace("{}", statement)
        if self.once_in(12):
            statement = self.mutated(statement)
        if self.once_in(8):
            space = self.one_of(SPACES)
            parts = statement.split("'")
            statement = "'".join(part.replace(" ", space) if at % 2 == 0 else part for at, part in enumerate(parts))
        if self.once_in(10):
            statement = statement.upper()
        return statement[:60_000].replace("\0", "")
