"""`colonnade read`: a query's result into a file or onto the terminal."""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError
from typing import TYPE_CHECKING

from colonnade._connection import connect
from colonnade._errors import InterfaceError
from colonnade._frames.geometry import know_geometries
from colonnade._frames.output import FORMATS
from colonnade._libraries import require
from colonnade._options.query import SourceOptions
from colonnade._read import partition

from . import destination
from .destination import Destination
from .numbers import byte_size
from .parameters import add_parameters, dtypes, given_query, parameters
from .progress import ProgressLine, summary
from .shown import values
from .terminal import say, table

if TYPE_CHECKING:
    import argparse

    from colonnade._frames.result import Result, Stats

#: The rows that are shown if there is no output file.
_SHOWN = 20


def add_arguments(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand `read`."""
    summary = "read a query's result into a file, or show its first rows"
    parser = subparsers.add_parser("read", help=summary, description=summary[0].upper() + summary[1:] + ".")
    kinds = "postgresql://host:port/, postgresql:///?host=/socket, 'host=… dbname=…', duckdb:///file, duckdb:////directory/file"
    parser.add_argument("uri", metavar="URI", help=kinds)
    parser.add_argument("query", metavar="QUERY", help="the query; - reads it from standard input")
    destination.add_arguments(parser)
    add_parameters(parser)
    parser.add_argument(
        "--dtype",
        metavar="NAME=TYPE",
        action="append",
        default=[],
        help="give a column another type, such as price=float64; lossy:float64 allows the nearest value",
    )
    parser.add_argument(
        "--as-text",
        metavar="NAME",
        action="append",
        default=[],
        help="PostgreSQL, MySQL, SQLite and ODBC: a column that arrives as the database's text for it; may be repeated",
    )
    parser.add_argument(
        "--numeric", metavar="P,S", type=_precision, help="PostgreSQL: precision and scale of numerics without them"
    )
    parser.add_argument(
        "--compression", metavar="NAME", help="pin what the server sends: plain, light, light+fsst, light+zstd-3, …"
    )
    parser.add_argument(
        "--max-result-bytes", metavar="BYTES", type=byte_size, help="a result of more memory, such as 2GB, is an error"
    )
    parser.add_argument(
        "--partition-on", metavar="COLUMN", help="read parts of the result at once, cut by this column's values"
    )
    parser.add_argument("--partition-num", metavar="N", type=int, help="how many parts; a plain table needs no column")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Reads. Returns the exit status."""
    sql = given_query(args.query)
    if args.output is None and (args.format or args.partition_by):
        raise InterfaceError("--format and --partition-by need -o FILE")
    output = None if args.output is None else Destination.of(args.output, args.format, args.partition_by)
    require("pyarrow", "colonnade read")
    split = partition.Split.checked(args.partition_on, args.partition_num, None, consistent=True, before=[])
    with connect(args.uri) as connection:
        line = ProgressLine.of(args, output)
        options = SourceOptions(
            progress=line,
            compression=args.compression,
            dtype=dtypes(args.dtype),
            as_text=args.as_text or None,
            numeric=args.numeric,
            max_result_bytes=args.max_result_bytes,
        )
        result = partition.start(connection._source, sql, parameters(args.param), options, split)
        if output is not None:
            result._require_types(output.format)
            if FORMATS[output.format].keeps_types:
                know_geometries()
                result._keep_types("-o")
            output.write(result.schema, result if line is None else line.watched(result))
        else:
            _show(result)
        stats = result.stats
    if output is not None or args.verbose:
        say(summary(stats), sys.stderr)
    if args.verbose:
        say(_details(stats), sys.stderr)
    return 0


def _precision(text: str) -> tuple[int, int]:
    precision, _, scale = text.partition(",")
    try:
        return int(precision), int(scale)
    except ValueError:
        raise ArgumentTypeError(f"{text} is not P,S, such as 38,10") from None


def _details(stats: Stats) -> str:
    lines = [f"{stats.source} ({stats.server}), {stats.chunks} chunks, codecs {_counts(stats.codecs)}"]
    lines += [stats.choice] if stats.choice else []
    lines += [f"  {name or '(no name)'}: {_counts(counts)}" for name, counts in stats.encodings if counts]
    return "\n".join(lines)


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} ×{count}" for name, count in counts.items()) or "none"


def _show(result: Result) -> None:
    """Shows the first rows as a table. Further rows are not fetched."""
    rows: list[list[object]] = []
    more = False
    for batch in result:
        take = batch.slice(0, _SHOWN - len(rows))
        more = take.num_rows < batch.num_rows
        columns = [values(column) for column in take.columns]
        rows += [[column[row] for column in columns] for row in range(take.num_rows)]
        if more:
            break
    result.close()
    table(result.column_names, rows)
    say(f"(the first {len(rows)} rows; -o FILE writes all)" if more else f"({len(rows)} rows)")
