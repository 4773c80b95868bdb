"""`colonnade write` and `colonnade copy`: a file, or a query's result, into a table."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, get_args

from colonnade._connection import connect
from colonnade._errors import InterfaceError
from colonnade._options.write import IfExists, WriteOptions
from colonnade._rows import files
from colonnade._rows.writing import WriteStats, require

from .parameters import add_parameters, dtypes, given_query, parameters
from .progress import ProgressLine, scaled
from .terminal import say

if TYPE_CHECKING:
    import argparse


def add_arguments(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommands `write` and `copy`."""
    parser = _parser(subparsers, "write", "write a Parquet or Arrow file into a table of a database")
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a Parquet or Arrow IPC file, whose first bytes tell which; - reads a stream of Arrow's IPC format from"
        " standard input",
    )
    parser.add_argument(
        "uri",
        metavar="URI",
        help="the database, as for colonnade read: PostgreSQL, colonnade serve, MySQL, MariaDB, SQLite or DuckDB",
    )
    parser.add_argument("table", metavar="TABLE", help="the table's name as the database has it")
    _add_options(parser)
    parser.set_defaults(run=write)
    parser = _parser(subparsers, "copy", "write a query's result into a table of another database")
    parser.add_argument("source", metavar="URI", help="the database to read, as for colonnade read")
    parser.add_argument("query", metavar="QUERY", help="the query; - reads it from standard input")
    parser.add_argument("target", metavar="TARGET", help="the URI of the database to write to")
    parser.add_argument("table", metavar="TABLE", help="the table's name as the database has it")
    add_parameters(parser)
    _add_options(parser)
    parser.set_defaults(run=copy)


def _parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], name: str, summary: str
) -> argparse.ArgumentParser:
    more = "All rows arrive, or none. Memory does not grow with the rows."
    return subparsers.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}. {more}")


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--schema", metavar="NAME", help="the table's schema; the default is the connection's")
    parser.add_argument(
        "--if-exists",
        metavar="MODE",
        choices=get_args(IfExists),
        default="fail",
        help=f"what happens to a table that exists: {', '.join(get_args(IfExists))}; fail is the default",
    )
    parser.add_argument(
        "--key",
        metavar="NAME",
        action="append",
        help="for --if-exists upsert: a column that identifies a row; may be repeated",
    )
    parser.add_argument(
        "--dtype",
        metavar="NAME=TYPE",
        action="append",
        default=[],
        help="give a column another type before it is written, such as price=decimal128(12,2)",
    )


def write(args: argparse.Namespace) -> int:
    """Writes a file. Returns the exit status."""
    options = _options(args)
    if args.file != "-":
        _check_file(args.file)
    with connect(args.uri) as connection:
        data: Any = args.file if args.file != "-" else _standard_input()
        _say(connection.write(data, args.table, **options))
    return 0


def copy(args: argparse.Namespace) -> int:
    """Writes a result. Returns the exit status."""
    options = _options(args)
    sql = given_query(args.query)
    with connect(args.source) as source, connect(args.target) as target:
        _say(target.write(source.query(sql, parameters(args.param)), args.table, **options))
    return 0


def _options(args: argparse.Namespace) -> WriteOptions:
    options = WriteOptions(
        schema=args.schema,
        if_exists=args.if_exists,
        key=args.key,
        dtype=dtypes(args.dtype) or None,
        progress=ProgressLine.of_write(),
    )
    require("write", args.table, options)
    return options


def _check_file(path: str) -> None:
    """Refuses a file of another kind before anything is connected to."""
    files.of_path(path)


def _standard_input() -> Any:
    if sys.stdin is None:
        raise InterfaceError("the file is -, and standard input is closed")
    if sys.stdin.isatty():
        raise InterfaceError("the file is -, and standard input is a terminal: give it a stream of Arrow's IPC format")
    return files.of_pipe(sys.stdin.buffer)


def _say(stats: WriteStats) -> None:
    rate = scaled(stats.rows / max(stats.seconds, 1e-9), " rows")
    say(f"{stats.rows:,} rows in {stats.seconds:.1f} s, {rate}/s, into {stats.table} of {stats.source}", sys.stderr)
