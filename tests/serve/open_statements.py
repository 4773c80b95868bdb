"""Statements with parameters of open types, at random: the same text means the same in PostgreSQL and in DuckDB."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

SETUP = """
CREATE TABLE t (id integer PRIMARY KEY, small smallint, big bigint, num numeric(10, 2), f double precision, r real,
    s text, b bytea, day date, ts timestamp, tz timestamptz, tm time, iv interval, u uuid, ok boolean, list integer[],
    words text[]);
CREATE TABLE other (id integer PRIMARY KEY, s text, num numeric(10, 2), ts timestamp, b bytea);
INSERT INTO t VALUES
    (1, 2, 30000000000, 1.25, 0.5, 1.5, 'a', '\\x00ff', '2024-01-31', '2024-01-31 10:00:00', '2024-01-31 10:00:00+00',
     '10:00:00', interval '1 day', '00000000-0000-0000-0000-000000000001', true, '{1,2}', '{a,b}'),
    (2, NULL, 5, 7.00, -2, 0, '01234', '\\x', '1999-12-31', '1999-12-31 23:59:59', NULL,
     NULL, interval '2 hours', NULL, false, '{}', NULL),
    (3, -1, -5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO other VALUES (1, 'a', 1.25, '2024-01-31 10:00:00', '\\x00ff'), (4, 'z', 9.99, NULL, NULL);
"""

#: The columns of each type. The keys are PostgreSQL's numbers of the types.
COLUMNS = {
    23: ["id"],
    21: ["small"],
    20: ["big"],
    1700: ["num"],
    701: ["f"],
    700: ["r"],
    25: ["s"],
    17: ["b"],
    1082: ["day"],
    1114: ["ts"],
    1184: ["tz"],
    1083: ["tm"],
    1186: ["iv"],
    2950: ["u"],
    16: ["ok"],
    1007: ["list"],
    1009: ["words"],
}
#: Texts of values of each type. Each is a value of its type only in some other ones, so a wrong type is seen.
VALUES = {
    23: ["1", "2", "-7", "0"],
    21: ["2", "-1", "5"],
    20: ["30000000000", "5", "-5"],
    1700: ["1.25", "-0.5", "7", "100.125"],
    701: ["0.5", "-2", "1e3"],
    700: ["1.5", "0"],
    25: ["a", "01234", "0x1F", "1e3", "", "\u00a0x", "2024-01-31", "{1}", "\\x41"],
    17: ["\\x00ff", "\\x", "\\x41"],
    1082: ["2024-01-31", "1999-12-31"],
    1114: ["2024-01-31 10:00", "1999-12-31 23:59:59"],
    1184: ["2024-01-31 10:00:00+00", "2024-01-31 12:00+02"],
    1083: ["10:00", "23:59:59"],
    1186: ["1 day", "02:00:00", "1 mon"],
    2950: ["00000000-0000-0000-0000-000000000001", "00000000000000000000000000000002"],
    16: ["true", "f"],
    1007: ["{1,2}", "{}", "{5,NULL}"],
    1009: ["{a,b}", "{\u00a0x}", "{01234}", "{}"],
}
NUMBERS = [23, 21, 20, 1700, 701, 700]
#: The types whose values have an order in both databases, and no other text.
ORDERED = [*NUMBERS, 25, 1082, 1114, 1184, 1083, 2950, 17]
#: Operators with the types of the left side, and whether the right side may be open.
ARITHMETIC = {
    "+": [*NUMBERS, 1114, 1184, 1186],
    "-": [*NUMBERS, 1082, 1114, 1186],
    "*": [21, 1700, 701],
    "||": [25, 1007, 1009],
}


Item = TypeVar("Item")


@dataclass(frozen=True)
class OpenStatement:
    sql: str
    #: Whether it changes rows. Then the tables are read after it.
    writes: bool = False


@dataclass
class Writer:
    """Writes statements."""

    random: random.Random
    parameters: int = 0
    reusable: list[str] = field(default_factory=list)
    #: The table of the columns, and their names.
    scope: dict[int, list[str]] = field(default_factory=lambda: COLUMNS)

    def choose(self, items: Sequence[Item]) -> Item:
        return self.random.choice(items)

    def parameter(self) -> str:
        # Now and then one is used twice.
        if self.reusable and self.random.random() < 0.03:
            return self.choose(self.reusable)
        self.reusable.append(self.fresh())
        return self.reusable[-1]

    def fresh(self) -> str:
        """A parameter with one place."""
        self.parameters += 1
        return f"${self.parameters}"

    def column(self, type_: int) -> str:
        return self.choose(self.scope[type_])

    def value(self, type_: int, depth: int = 2) -> str:
        """An expression of a type, which has one without its parameters."""
        roll = self.random.random()
        if depth == 0 or roll < 0.4:
            return self.column(type_)
        if roll < 0.6:
            operators = [name for name, types in ARITHMETIC.items() if type_ in types and type_ in (*NUMBERS, 25, 1186)]
            if operators:
                name = self.choose(operators)
                # The text of a value in `||` is DuckDB's.
                sides = [self.value(type_, depth - 1), self.fresh() if name == "||" else self.parameter()]
                self.random.shuffle(sides)
                return f"({sides[0]} {name} {sides[1]})"
        if roll < 0.7:
            return f"coalesce({self.mixed([self.value(type_, depth - 1), self.parameter()])})"
        if roll < 0.8:
            then, otherwise = self.mixed([self.value(type_, depth - 1), self.parameter()]).split(", ", 1)
            return f"CASE WHEN {self.condition(depth - 1)} THEN {then} ELSE {otherwise} END"
        if roll < 0.85 and type_ in ORDERED:
            return f"nullif({self.value(type_, depth - 1)}, {self.parameter()})"
        if roll < 0.9 and type_ in (*NUMBERS, 25, 1082, 1114):
            return f"greatest({self.mixed([self.column(type_), self.parameter()])})"
        return self.column(type_)

    def mixed(self, items: list[str]) -> str:
        # A comma in an item would be taken for one between them.
        items = [item if "," not in item else f"({item})" for item in items]
        if "," in "".join(items):
            return ", ".join(sorted(items, key=lambda item: "," in item))
        self.random.shuffle(items)
        return ", ".join(items)

    def condition(self, depth: int = 2) -> str:
        type_ = self.choose(ORDERED)
        value = self.value(type_, max(depth - 1, 0))
        forms: list[Callable[[], str]] = [
            lambda: f"{value} {self.choose(['=', '<>', '<', '>=', '>'])} {self.parameter()}",
            lambda: f"{self.parameter()} {self.choose(['=', '<', '<='])} {value}",
            lambda: f"{value} IN ({self.parameter()}, {self.column(type_)}, {self.parameter()})",
            lambda: f"{value} BETWEEN {self.parameter()} AND {self.parameter()}",
            lambda: f"{value} IS DISTINCT FROM {self.parameter()}",
            lambda: f"{value} = ANY ({self.parameter()})",
            lambda: f"{value} <> ALL ({self.parameter()})",
            lambda: self.rows(),
            lambda: f"{self.value(25, 1)} LIKE {self.parameter()}",
            lambda: f"NOT ({self.condition(0)})",
            lambda: f"({self.condition(0)} {self.choose(['AND', 'OR'])} {self.choose([self.parameter(), 'ok'])})",
            lambda: f"EXISTS (SELECT 1 FROM other o WHERE o.id = t.id + {self.parameter()})",
            lambda: f"{self.column(23)} IN (SELECT o.id * {self.parameter()} FROM other o)",
        ]
        return self.choose(forms)()

    def rows(self) -> str:
        """A comparison of rows."""
        types = [self.choose(ORDERED) for _ in range(self.choose([2, 2, 3]))]
        left = ", ".join(map(self.column, types))

        def row() -> str:
            return f"({', '.join(self.choose([self.parameter(), self.column(type_)]) for type_ in types)})"

        if self.random.random() < 0.4:
            return f"({left}) {self.choose(['IN', 'NOT IN'])} ({row()}, {row()})"
        return f"({left}) {self.choose(['=', '<>', '<', '>='])} {row()}"

    # Statements.

    def select(self) -> str:
        types = [self.choose(list(COLUMNS)) for _ in range(self.choose([1, 1, 2]))]
        items = [self.value(type_) for type_ in types]
        if self.random.random() < 0.15:
            items.append(self.parameter())
        where = f" WHERE {self.condition()}" if self.random.random() < 0.6 else ""
        limit = f" LIMIT {self.fresh()}::int + 5" if self.random.random() < 0.05 else ""
        return f"SELECT id, {', '.join(items)} FROM t{where} ORDER BY t.id{limit}"

    def temporal(self) -> str:
        item = self.choose(["ts + {}", "ts - {}", "tz - {}", "day - {}", "iv + {}", "iv * {}", "{} + ts", "tz + {}"])
        return f"SELECT id, {item.format(self.parameter())} FROM t ORDER BY t.id"

    def aggregate(self) -> str:
        type_ = self.choose([1700, 701])
        item = self.choose(
            [
                f"max({self.value(type_, 1)})",
                f"sum({self.column(type_)}) * {self.parameter()}",
                f"min({self.column(type_)} + {self.parameter()})",
                f"count(*) FILTER (WHERE {self.condition(0)})",
                f"max({self.column(25)} || {self.fresh()})",
            ]
        )
        having = f" HAVING count(*) >= {self.parameter()}" if self.random.random() < 0.4 else ""
        return f"SELECT ok, {item} FROM t GROUP BY ok{having} ORDER BY ok"

    def set_operation(self) -> str:
        types = [self.choose([23, 20, 1700, 701, 25, 1082, 1114, 2950, 17]) for _ in range(self.choose([1, 2]))]
        at = self.random.randrange(len(types))
        sides = []
        for side in range(self.choose([2, 2, 3])):
            items = [self.column(type_) for type_ in types]
            if side:
                items[at] = self.parameter()
            sides.append(f"SELECT {', '.join(items)} FROM t")
        if self.random.random() < 0.4 and len(sides) == 2:
            sides.reverse()
        word = self.choose(["UNION ALL", "UNION", "INTERSECT", "EXCEPT"])
        return f" {word} ".join(sides) + " ORDER BY " + ", ".join(str(at + 1) for at in range(len(types)))

    def values_list(self) -> str:
        type_ = self.choose([23, 1700, 25, 1082, 1114])
        known = self.choose(VALUES[type_])
        names = {23: "int", 1700: "numeric", 25: "text", 1082: "date", 1114: "timestamp"}
        rows = [f"(1, CAST('{known}' AS {names[type_]}))", f"({self.parameter()}, {self.parameter()})"]
        return f"SELECT a, c FROM (VALUES {', '.join(rows)}) v(a, c) WHERE a <> {self.parameter()} ORDER BY a"

    def with_query(self) -> str:
        type_ = self.choose([23, 20, 1700, 701, 25])
        value = self.value(type_, 1)
        operator = "||" if type_ == 25 else "+"
        query = f"SELECT id AS n, {value} AS v, {self.parameter()} AS free FROM t"
        items = f"n, v {operator} {self.parameter()}, free || {self.fresh()}"
        return f"WITH q AS ({query}) SELECT {items} FROM q WHERE v = {self.parameter()} ORDER BY n"

    def recursive(self) -> str:
        return (
            "WITH RECURSIVE q(n) AS (SELECT 1 UNION ALL "
            f"SELECT n + 1 FROM q WHERE n < 4 AND n < {self.parameter()} + 3) "
            f"SELECT n FROM q WHERE n <> {self.parameter()} ORDER BY n LIMIT 9"
        )

    def function(self) -> str:
        item = self.choose(
            [
                "lower({})",
                "abs({})",
                "s || lower({})",
                "date_trunc({}, NULL::timestamp)",
                "date_part({}, NULL::timestamp)",
                "replace(s, {}, {})",
                "sqrt(abs({}))",
            ]
        )
        while "{}" in item:
            item = item.replace("{}", self.parameter(), 1)
        return f"SELECT id, {item} FROM t ORDER BY t.id"

    def insert(self) -> str:
        types = [25, 1700, 1114, 17]
        names = ["s", "num", "ts", "b"]
        kept = sorted(self.random.sample(range(4), self.choose([1, 2, 3])))
        columns = ", ".join(["id", *(names[at] for at in kept)])
        conflict = ""
        if self.random.random() < 0.5:
            sets = {
                "s": [f"other.s || {self.fresh()}", self.parameter()],
                "num": [f"excluded.num + {self.parameter()}", f"other.num * {self.parameter()}", self.parameter()],
                "ts": [f"excluded.ts - interval '1 day' + {self.parameter()}", self.parameter()],
            }
            name = self.choose(list(sets))
            # The parameters of the other ones do not occur.
            conflict = f" ON CONFLICT (id) DO UPDATE SET {name} = {self.choose(sets[name])}"
        if self.random.random() < 0.5:
            row = ", ".join(["id + 10", *(self.choose([self.parameter(), *self.scope[types[at]]]) for at in kept)])
            source = f"SELECT {row} FROM t WHERE {self.condition(1)}"
        else:
            first = self.choose(["1", "4", "20"])
            source = f"VALUES ({', '.join([first, *(self.fresh() for _ in kept)])})"
            if self.random.random() < 0.4:
                source += f", (21, {', '.join(self.fresh() for _ in kept)})"
        return f"INSERT INTO other ({columns}) {source}{conflict}"

    def update(self) -> str:
        types = self.random.sample(
            [21, 20, 1700, 701, 25, 17, 1082, 1114, 1186, 2950, 1007, 1009], self.choose([1, 2, 3])
        )
        sets = [f"{self.column(type_)} = {self.choose([self.parameter(), self.value(type_)])}" for type_ in types]
        return f"UPDATE t SET {', '.join(sets)} WHERE {self.condition()}"

    def update_from(self) -> str:
        self.scope = {type_: [f"t.{name}" for name in names] for type_, names in COLUMNS.items()}
        item = self.choose(
            [f"num = t.num + {self.parameter()}", f"s = o.s || {self.fresh()}", f"s = {self.parameter()}"]
        )
        return f"UPDATE t SET {item} FROM other o WHERE t.id = o.id + {self.parameter()} AND {self.condition(1)}"

    def delete(self) -> str:
        return f"DELETE FROM t WHERE {self.condition()}"


READING = [
    Writer.select,
    Writer.select,
    Writer.select,
    Writer.temporal,
    Writer.aggregate,
    Writer.set_operation,
    Writer.values_list,
    Writer.with_query,
    Writer.recursive,
    Writer.function,
]
WRITING = [Writer.insert, Writer.insert, Writer.update, Writer.update_from, Writer.delete]


def statements(seed: int, count: int) -> Iterator[OpenStatement]:
    for number in range(count):
        writer = Writer(random.Random(seed * 1_000_003 + number))
        form = writer.choose([*READING, *WRITING])
        yield OpenStatement(numbered(form(writer)), form in WRITING)


def numbered(sql: str) -> str:
    """The statement with its parameters numbered without gaps."""
    pieces = sql.split("$")
    numbers: dict[str, int] = {}
    out = pieces[0]
    for piece in pieces[1:]:
        length = next((at for at, letter in enumerate(piece) if not letter.isdigit()), len(piece))
        out += f"${numbers.setdefault(piece[:length], len(numbers) + 1)}{piece[length:]}"
    return out
