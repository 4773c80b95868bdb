"""`colonnade tables` and `colonnade schema`: what a database has to read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from colonnade._connection import connect

from .terminal import say, table

if TYPE_CHECKING:
    import argparse


def add_arguments(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommands `tables` and `schema`."""
    parser = _parser(subparsers, "tables", "list the tables of a database")
    parser.set_defaults(run=tables)
    parser = _parser(subparsers, "schema", "show the columns of a table, with the types in which they are read")
    parser.add_argument("table", metavar="TABLE", help="the table's name as the database has it")
    parser.add_argument("--schema", metavar="NAME", help="the table's schema; the default is the connection's")
    parser.set_defaults(run=schema)


def _parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], name: str, summary: str
) -> argparse.ArgumentParser:
    parser = subparsers.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
    parser.add_argument("uri", metavar="URI", help="the database, as for colonnade read")
    parser.add_argument("--json", action="store_true", help="write a JSON array of objects")
    return parser


def tables(args: argparse.Namespace) -> int:
    """Lists the tables. Returns the exit status."""
    with connect(args.uri) as connection:
        found = connection.tables().to_pylist()
    if not args.json:
        # The number is the database's estimate.
        for row in found:
            rows = row["estimated_rows"]
            row["rows"] = "" if rows is None else f"~{rows:,}"
    _print(found, ["catalog", "schema", "name", "type", "estimated_rows" if args.json else "rows"], is_json=args.json)
    return 0


def schema(args: argparse.Namespace) -> int:
    """Shows the columns. Returns the exit status."""
    with connect(args.uri) as connection:
        fields = connection.schema(args.table, args.schema)
    found: list[dict[str, Any]] = []
    for field in fields:
        kind = (field.metadata or {}).get(b"colonnade.type")
        found.append({"name": field.name, "type": str(field.type), "database_type": kind and kind.decode()})
    _print(found, ["name", "type", "database_type"], is_json=args.json)
    return 0


def _print(rows: list[dict[str, Any]], columns: list[str], *, is_json: bool) -> None:
    """The columns of the rows. Without JSON, a column in which all is empty is left out."""
    if is_json:
        found = [{name: row[name] for name in columns} for row in rows]
        # Escapes for all but ASCII: text of a database cannot control the terminal.
        print(json.dumps(found, indent=2))
        return
    shown = [name for name in columns if any(row[name] for row in rows)] or columns[:1]
    table(shown, [[row[name] for name in shown] for row in rows])
    say(f"({len(rows)} rows)")
