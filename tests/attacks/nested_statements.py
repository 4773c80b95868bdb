"""Statements of a chosen depth, one for each construct of SQL that nests or repeats.

`python -m tests.attacks.nested_statements STACK_MIB` measures, in processes of their own, at which depth DuckDB dies on
a stack of that size; docs/reference/server.md has the table.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path


def around(before: str, core: str, after: str) -> Callable[[int], str]:
    """`core` within `depth` pairs of `before` and `after`."""
    return lambda depth: before * depth + core + after * depth


def chain(begin: str, link: str, end: str = "") -> Callable[[int], str]:
    return lambda depth: begin + link * depth + end


def values(prefix: str, item: str, suffix: str) -> Callable[[int], str]:
    return lambda depth: prefix + ",".join([item] * depth) + suffix


def inside(statement: str, inner: Callable[[int], str]) -> Callable[[int], str]:
    """A statement with a nested part in the place of `%`."""
    return lambda depth: statement.replace("%", inner(depth))


#: Each construct by its name, as a function of the depth.
CONSTRUCTS: dict[str, Callable[[int], str]] = {
    "parentheses": inside("select %", around("(", "1", ")")),
    "parentheses never closed": chain("select ", "("),
    "lists": inside("select %", around("[", "1", "]")),
    "lists never closed": chain("select ", "["),
    "structs": inside("select %", around("{'a':", "1", "}")),
    "rows": inside("select %", around("row(", "1", ")")),
    "functions": inside("select %", around("abs(", "1", ")")),
    "functions of two": inside("select %", around("greatest(1,", "1", ")")),
    "case": inside("select %", around("case when true then ", "1", " end")),
    "case never closed": chain("select ", "case when "),
    "subqueries": inside("select %", around("(select ", "1", ")")),
    "subqueries in from": inside("select * from %", around("(select * from ", "(select 1)", ")")),
    "subqueries in where": inside("select 1 where %", around("exists (select 1 where ", "true", ")")),
    "parentheses in from": inside("select * from %", around("(", "range(3)", ")")),
    "joins in parentheses": inside("select * from %", around("(", "range(3)", " cross join range(1))")),
    "with": inside("%", around("with a as (", "select 1", ") select * from a")),
    "with beside": lambda depth: (
        "with " + ",".join(f"a{i} as (select 1)" for i in range(depth)) + f" select * from a{depth - 1}"
    ),
    "with in a chain": lambda depth: (
        "with a0 as (select 1)" + "".join(f",a{i} as (from a{i - 1})" for i in range(1, depth)) + f" from a{depth - 1}"
    ),
    "union": chain("select 1", " union all select 1"),
    "union in parentheses": inside("%", around("(", "select 1", " union all select 1)")),
    "except": chain("select 1", " except select 1"),
    "joins": chain("select 1 from range(1)", " cross join range(1)"),
    "joins on": chain("select 1 from range(1) t(i)", " join range(1) u(i) on true"),
    "joins natural": chain("select 1 from range(1)", " natural join range(1)"),
    "comma joins": chain("select 1 from range(1)", ",range(1)"),
    "pivot": inside("%", around("pivot (", "select 1 as i", ") on i in (1) using count(*)")),
    "unpivot": inside("%", around("from (unpivot (", "select 1 as i", ") on i)")),
    "pivots in from": chain("from (select 1 as i) ", " pivot (count(*) for i in (1)) "),
    "grouping sets": lambda depth: (
        "select 1 from range(1) t(i) group by grouping sets (" + ",".join(["(i)"] * depth) + ")"
    ),
    "grouping sets nested": inside("select 1 from range(1) t(i) group by %", around("grouping sets (", "(i)", ")")),
    "cube": lambda depth: "select 1 from range(1) t(i) group by cube (" + ",".join(["i"] * depth) + ")",
    "lambdas": inside("select %", around("list_transform([1], lambda x: ", "1", ")")),
    "arrows": inside("select %", around("list_transform([1], x -> ", "1", ")")),
    "comprehensions": inside("select %", around("[x for x in ", "[1]", "]")),
    "windows": inside("select %", around("sum(", "1", ") over ()")),
    "not": chain("select ", "not ", "true"),
    "minus": chain("select ", "- ", "1"),
    "plus signs": chain("select ", "+", "1"),
    "tilde": chain("select ", "~ ", "1"),
    "at signs": chain("select ", "@ ", "1"),
    "additions": chain("select 1", "+1"),
    "powers": chain("select 1", "^1"),
    "concatenations": chain("select 'a'", "||'a'"),
    "arrows of json": chain("select '{}'::json", "->'a'"),
    "and": chain("select true", " and true"),
    "or": chain("select i=1 from range(1) t(i) where i=1", " or i=2"),
    "and or": chain("select true", " and false or true"),
    "comparisons": chain("select 1", "=1"),
    "less than": chain("select 1", "<1"),
    "like": chain("select 'a'", " like 'a'"),
    "between": chain("select 1", " between 1 and 2"),
    "in": chain("select 1", " in (1)"),
    "in lists": values("select 1 in (", "1", ")"),
    "is null": chain("select 1", " is null"),
    "postfix": chain("select 1", " !"),
    "casts": chain("select 1", "::int"),
    "casts by word": inside("select %", around("cast(", "1", " as int)")),
    "subscripts": chain("select [1]", "[1]"),
    "slices": chain("select [1]", "[1:2]"),
    "methods": chain("select 1", ".abs()"),
    "fields": chain("select t", ".a"),
    "collations": chain("select 'a'", " collate nocase"),
    "time zones": chain("select now()", " at time zone 'UTC'"),
    "list types": lambda depth: "select null::int" + "[]" * depth,
    "struct types": inside("select null::%", around("struct(a ", "int", ")")),
    "map types": inside("select null::%", around("map(int,", "int", ")")),
    "union types": inside("select null::%", around("union(a ", "int", ")")),
    "explain": chain("", "explain ", "select 1"),
    "explain analyze": chain("", "explain analyze ", "select 1"),
    "prepare": chain("", "prepare a as ", "select 1"),
    "describe": inside("%", around("from (describe ", "select 1", ")")),
    "describes": chain("", "describe ", "select 1"),
    "limits": inside("select 1 limit %", around("(select 1 limit ", "1", ")")),
    "offsets": inside("select 1 offset %", around("(select 1 offset ", "0", ")")),
    "summarize": inside("%", around("from (summarize ", "select 1", ")")),
    "comments": inside("select % 1", around("/*", "", "*/")),
    "values": values("values ", "(1)", ""),
    "columns": values("select ", "1", ""),
    "filters": inside("select %", around("count(*) filter (where 1 = ", "1", ")")),
    "order by": values("select 1 from range(1) t(i) order by ", "i", ""),
    "strings": inside("select %", around("concat('a',", "'a'", ")")),
    "columns of columns": inside("select %", around("columns(", "*", ")")),
    "exists": inside("select %", around("exists (", "select 1", ")")),
    "any": inside("select %", around("1 = any (select ", "1", ")")),
    "intervals": chain("select interval 1 day", " + interval 1 day"),
    "if": inside("select %", around("if(true,", "1", ",2)")),
    "coalesce": inside("select %", around("coalesce(", "1", ",2)")),
    "try": inside("select %", around("try(", "1", ")")),
    "lateral": chain("select 1 from range(1) t(i)", ", lateral (select i)"),
    "values of json": inside("select '%'::json", around("[", "1", "]")),
    "json as variant": inside("select '%'::json::variant", around("[", "", "]")),
    "json objects as variant": inside("select '%'::json::variant", around('{"a":', "1", "}")),
    "json as lists": lambda depth: "select '" + "[" * depth + "]" * depth + "'::json::int" + "[]" * min(depth, 100),
    "json structure": inside("select json_structure('%')", around("[", "", "]")),
    "json pretty": inside("select json_pretty('%')", around("[", "", "]")),
    "json tree": inside("select count(*) from json_tree('%')", around("[", "", "]")),
    "json merge": inside("select json_merge_patch('%','{}')", around('{"a":', "1", "}")),
    "json computed": lambda depth: f"select (repeat('[',{depth})||repeat(']',{depth}))::json::variant",
    "json structure computed": lambda depth: f"select json_structure(repeat('[',{depth})||repeat(']',{depth}))",
    "json validity computed": lambda depth: f"select json_valid(repeat('[',{depth})||repeat(']',{depth}))",
    "lists from text computed": lambda depth: f"select (repeat('[',{depth})||repeat(']',{depth}))::int[][][][]",
    "text as variant lists": lambda depth: f"select (repeat('[',{depth})||repeat(']',{depth}))::variant::varchar",
    "regular expressions": inside("select regexp_matches('a', '%')", around("(", "a", ")")),
    "regular expressions computed": lambda depth: (
        f"select regexp_matches('a', repeat('(',{depth}) || 'a' || repeat(')',{depth}))"
    ),
    "like patterns": chain("select 'a' like '", "%a", "'"),
    "globs": chain("select 'a' glob '", "*a", "'"),
}
#: What a value nests is seen by nobody before it is computed. DuckDB recurses on JSON that becomes VARIANT, and takes
#: gigabytes for 10,000 levels of it. Up to these depths it is answered; beyond them the worker process may be lost.
DEEP_VALUES = {"json as variant": 1000, "json objects as variant": 1000, "json computed": 1000}
#: These take DuckDB longer than a test may: its own limits end them.
SLOW = {"json tree", "json pretty", "text as variant lists"}

ALIVE = """
import duckdb, sys, threading
threading.stack_size(int(sys.argv[1]) << 20)
sql = sys.stdin.read()
connection = duckdb.connect()
connection.execute("set memory_limit='1GB'; set threads=2")
def run():
    try:
        connection.execute(sql).fetchall()
        print("done", flush=True)
    except duckdb.Error as error:
        print("refused", type(error).__name__, str(error)[:60].splitlines()[0], flush=True)
    except Exception as error:
        print("refused", type(error).__name__, flush=True)
thread = threading.Thread(target=run)
thread.start()
thread.join()
import os
os._exit(0)
"""


def outcome(sql: str, stack_mib: int, seconds: float = 20) -> str:
    """What becomes of a DuckDB in a process of its own that runs the statement."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_STACK, (stack_mib << 20, resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_DATA, (3 << 30, 3 << 30))

    command = [sys.executable, "-c", ALIVE, str(stack_mib)]
    try:
        done = subprocess.run(
            command, input=sql, capture_output=True, text=True, timeout=seconds, preexec_fn=limit, check=False
        )
    except subprocess.TimeoutExpired:
        return "slow"
    return done.stdout.strip() if done.returncode == 0 else f"died {-done.returncode}"


def measure(stack_mib: int, names: list[str]) -> None:
    for name in names:
        seen: list[tuple[int, str]] = []
        for depth in (100, 250, 500, 1000, 2000, 4000, 10_000, 30_000, 100_000):
            result = outcome(CONSTRUCTS[name](depth), stack_mib)
            if not seen or seen[-1][1] != result:
                seen.append((depth, result))
            if result.startswith("died") or result == "slow":
                break
        print(f"{stack_mib:3} {name:28} {'; '.join(f'{depth}: {what}' for depth, what in seen)}", flush=True)


if __name__ == "__main__":
    measure(int(sys.argv[1]), sys.argv[2:] or list(CONSTRUCTS))
    _ = (threading, Path)
