"""`colonnade demo`: a small DuckDB file with sample data, for the examples of the documentation."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from colonnade._libraries import require

from .terminal import tell

if TYPE_CHECKING:
    import argparse

_CUSTOMERS = 1_000
#: The values depend only on the row's number, so that everybody gets the same file. Every 50th note is NULL.
_TABLES = (
    """CREATE TABLE customers AS SELECT i::INTEGER AS id, 'Customer ' || i AS name,
    ['Brazil', 'Finland', 'India', 'Japan', 'Kenya'][i % 5 + 1] AS country FROM range(1, $customers + 1) t(i)""",
    """CREATE TABLE orders AS SELECT i AS id, (i * 7919 % $customers + 1)::INTEGER AS customer_id,
    DATE '2024-01-01' + ((i - 1) * 731 // $rows)::INTEGER AS day, ((i * 104729 % 100000) / 100)::DECIMAL(9, 2) AS total,
    CASE WHEN i % 50 <> 0 THEN 'order ' || i END AS note FROM range(1, $rows + 1) t(i)""",
)


def add_arguments(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand `demo`."""
    summary = "make a DuckDB file with sample data"
    parser = subparsers.add_parser(
        "demo",
        help=summary,
        description=f"{summary[0].upper() + summary[1:]}: the tables orders (id, customer_id, day, total, note) and "
        "customers (id, name, country). The same number of rows always gives the same values.",
    )
    parser.add_argument("file", metavar="FILE.duckdb", type=Path, help="the file to make; it must not exist")
    parser.add_argument("--rows", metavar="N", type=int, default=100_000, help="rows of orders (default: 100000)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Makes the file. Returns the exit status."""
    if args.rows < 1:
        raise ValueError(f"--rows {args.rows} is too small: give at least 1")
    if os.path.lexists(args.file):
        raise FileExistsError(f"{args.file} exists: name another file, or remove it")
    if not args.file.parent.is_dir():
        raise NotADirectoryError(f"{args.file.parent} is not a directory: make it first")
    duckdb = require("duckdb", "colonnade demo")
    with tempfile.TemporaryDirectory(dir=args.file.parent, prefix=f".{args.file.name}.") as directory:
        unfinished = Path(directory) / "unfinished.duckdb"
        with duckdb.connect(str(unfinished)) as connection:
            for table in _TABLES:
                given = {"rows": args.rows, "customers": _CUSTOMERS}
                connection.execute(table, {name: value for name, value in given.items() if f"${name}" in table})
        # Unlike a rename, a link never replaces a file that another process has made meanwhile.
        os.link(unfinished, args.file)
    tell(f"{args.file}: orders ({args.rows:,} rows), customers ({_CUSTOMERS:,} rows)")
    return 0
