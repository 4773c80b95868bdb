"""What the server's own work costs for statements and results at its limits, and how it grows.

    python bench/limits.py [--rounds 3] [--markdown FILE] [--json FILE]

CPU milliseconds of the server's worker for one statement: at a quarter, at a half and at the whole of the limit. Growth
is the quotient of the last two: 2 is linear, 4 is quadratic. A statement of the first part ends with a syntax error, so
that it is read and rewritten, and DuckDB only parses it. The other parts have results of columns that the server
describes and converts, and constructs whose time is DuckDB's own.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psycopg
from colonnade_serve import _core
from process import cpu_seconds
from turns import add_outputs, write

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.testbed.serving import Server, serve

#: The limits of tokens, of bytes, of parameters, of columns as rows, and of columns (docs/reference/server.md).
TOKENS, BYTES, PARAMETERS, ROWS, COLUMNS = 400_000, 16_000_000, 65_535, 1664, 5000
SHARES = (4, 2, 1)


@dataclass(frozen=True)
class Case:
    """A statement by its size, and the size at the limit."""

    what: str
    most: int
    statement: Callable[[int], str]
    #: How it is sent.
    form: str = "simple"


def repeated(what: str, unit: str, tokens: int, begin: str = "select f(", end: str = "1) x y z") -> Case:
    """As many repetitions of a text as its tokens and bytes allow, before a syntax error."""
    most = min((TOKENS - 20) // tokens, (BYTES - 100) // len(unit))
    return Case(f"rewriting: {what}", most, lambda count: begin + unit * count + end)


REWRITINGS = [
    repeated("nothing", "a, ", 2),
    repeated("names of pg_catalog", "pg_catalog.a, ", 4),
    repeated("names of public", "public.a, ", 4),
    repeated("regclass", "'t'::regclass, ", 5),
    repeated("a chain of regclass", "::regclass", 3, "select a", " x y z"),
    repeated("qualified operators", "a operator(pg_catalog.~) 'b', ", 9),
    repeated("a chain of operators", "::operator(pg_catalog.~)", 8, "select a", " x y z"),
    repeated("like", "a like b, ", 4),
    repeated("a chain of like", " like b", 2, "select a", " x y z"),
    repeated("unnest", "unnest(a, b), ", 7),
    repeated("unnest in lists of FROM", "f(a, unnest(a, b)), ", 12, "select 1 from f(", "1) x y z"),
    repeated("subscripts of vectors", "indkey[1], ", 5),
    Case(
        "rewriting: nested subscripts", 240, lambda count: "select " + "indkey[" * count + "1" + "]" * count + " x y z"
    ),
    repeated("series of subscripts", "generate_series(array_lower(k, 1), array_upper(k, 1)), ", 17),
    repeated("arrays in ANY", "a = any(array(select 1)), ", 11),
    repeated("literals of arrays", "'{1,2}'::int[], ", 7),
    repeated("literals of bytes", r"'\x00'::bytea, ", 5),
    Case("rewriting: one long array", 3_000_000, lambda count: "select a = any('{" + "1,1," * count + "1}') x y z"),
    repeated("sequences", "nextval('public.s'), ", 5),
    repeated("comments", "/**/ a, ", 2),
    Case("rewriting: classes of an index", 100_000, lambda n: f"create index i on t ({'a text_ops, ' * n}b) x y z"),
    Case(
        "rewriting: columns with sequences",
        250,
        lambda n: f"create temp table {{}} ({', '.join(f'c{i} serial' for i in range(n))})",
    ),
    Case("splitting: statements", 100_000, lambda count: "x y z" + ";x" * (count - 1)),
    Case(
        "describing: parameters",
        PARAMETERS,
        lambda n: f"select 1 in ({', '.join(f'${i + 1}::int' for i in range(n))})",
        "describe",
    ),
    Case(
        "describing: parameters without types",
        PARAMETERS,
        lambda n: f"select 1 in ({', '.join(f'${i + 1}' for i in range(n))})",
        "describe",
    ),
]
CONVERTED = {
    "INTEGER": "1",
    "BIT": "bit '1'",
    "UHUGEINT": "1::uhugeint",
    "INTERVAL": "interval '1 day'",
    "TIMETZ": "'12:00:00+01'::timetz",
    "age()": "age(timestamp '2020-01-01')",
    "BIT[]": "[bit '1']",
    "regproc": "'lower'::regproc",
}


def columns(value: str, named: bool) -> Callable[[int], str]:
    return lambda count: "select " + ", ".join(f"{value} as c{at}" if named else f"{value} as c" for at in range(count))


def several(count: int) -> str:
    """Columns of five subqueries, because one list has a limit of its own."""
    lists = [", ".join(f"1 as c{at}" for at in range(part, count, 5)) for part in range(5)]
    return "select * from " + ", ".join(f"(select {items}) t{part}" for part, items in enumerate(lists))


RESULTS = [
    Case(f"{form}: {type_}{'' if named else ', equal names'}", ROWS, columns(value, named), form)
    for form in ("simple", "describe", "columnar")
    for type_, value in CONVERTED.items()
    for named in (True, False)
    if form != "describe" or named
]
RESULTS += [
    Case(
        "simple: vectors of the catalog", ROWS, lambda n: f"select {', '.join(['indkey'] * n)} from pg_catalog.pg_index"
    ),
    Case("columnar: plain columns", COLUMNS, several, "columnar"),
    Case(
        "columnar: plain columns and a BIT",
        COLUMNS - 1,
        lambda n: several(n).replace("*", "*, bit '1' as b", 1),
        "columnar",
    ),
]


def replacing(count: int) -> str:
    replaced = ", ".join(f"1 as c{at}" for at in range(count))
    return f"select count(*) from (select * replace ({replaced}) from ({columns('1', True)(count)}) a) b"


ENGINE = [
    Case("DuckDB: items of equal names", 2999, lambda n: f"select 1 from ({columns('1', False)(n)}) a"),
    Case("DuckDB: GROUP BY", 3000, lambda n: f"select 1 from t group by {', '.join(f'i + {at}' for at in range(n))}"),
    Case("DuckDB: ORDER BY", 3000, lambda n: f"select 1 from t order by {', '.join(f'i + {at}' for at in range(n))}"),
    Case(
        "DuckDB: ORs of ANDs",
        500,
        lambda n: f"select 1 from t where {' or '.join(f'(i = {at} and j = {at})' for at in range(n))}",
    ),
    Case("DuckDB: ANDs", 1000, lambda n: f"select 1 from t where {' and '.join(f'i <> {at}' for at in range(n))}"),
    Case("DuckDB: IN", 195_000, lambda n: f"select 1 from t where i in ({', '.join(map(str, range(n)))})"),
    Case(
        "DuckDB: VALUES", 95_000, lambda n: f"select count(*) from (values {', '.join(f'({at})' for at in range(n))}) v"
    ),
    Case(
        "DuckDB: REPLACE",
        940,
        replacing,
    ),
    Case(
        "DuckDB: columns of a table",
        50_000,
        lambda n: f"create temp table {{}} ({', '.join(f'c{at} int' for at in range(n))})",
    ),
]


def run(connection: psycopg.Connection, case: Case, statement: str) -> str:
    """Send a statement. Gives the SQLSTATE of its error, if there is one."""
    try:
        if case.form == "describe":
            connection.pgconn.send_prepare(b"", statement.encode())
            answer = connection.pgconn.get_result()
            while connection.pgconn.get_result() is not None:
                pass
            return "" if answer is None or answer.status == 1 else answer.error_message.decode()[:60]
        if case.form == "columnar":
            with connection.cursor().copy(f"copy ({statement}) to stdout (format colonnade)") as rows:
                for _ in rows:
                    pass
        else:
            connection.execute(statement.encode())
    except psycopg.Error as error:
        return error.sqlstate or str(error)
    return ""


def milliseconds(server: Server, case: Case, share: int, number: int) -> tuple[float, str]:
    statement = case.statement(case.most // share)
    statement = statement.replace("{}", f"made_{number}_{share}") if "{} (" in statement else statement
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("create temp table t as select 1 as i, 2 as j")
        before = cpu_seconds(server.worker)
        state = run(connection, case, statement)
        spent = cpu_seconds(server.worker) - before
    return spent * 1e3, state


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="the beginning of the names of cases")
    add_outputs(parser)
    given = parser.parse_args()
    lines = [f"{_core.BUILD_PROFILE} build, median of {given.rounds}", ""]
    lines += ["| what | size | quarter, ms | half, ms | whole, ms | growth | answer |", "|---|--:|--:|--:|--:|--:|---|"]
    results = []
    with serve() as server:
        for case in (*REWRITINGS, *RESULTS, *ENGINE):
            if not case.what.startswith(given.only):
                continue
            found, state = [], ""
            for share in SHARES:
                rounds = [milliseconds(server, case, share, number) for number in range(given.rounds)]
                found.append(statistics.median(spent for spent, _ in rounds))
                state = rounds[-1][1]
            growth = f"{found[2] / found[1]:.1f}" if found[1] > 20 else ""
            shown = " | ".join(f"{spent:.0f}" for spent in found)
            results.append({"what": case.what, "size": case.most, "milliseconds": found, "answer": state})
            lines.append(f"| {case.what} | {case.most} | {shown} | {growth} | {state or 'rows'} |")
            print(lines[-1], file=sys.stderr, flush=True)
    write("\n".join(lines) + "\n", results, given)


if __name__ == "__main__":
    main()
