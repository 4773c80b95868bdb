"""`colonnade ml`: models in a database."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from colonnade._cli.terminal import say, table, tell

if TYPE_CHECKING:
    import argparse


def add_arguments(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand `ml`."""
    summary = "install functions for machine learning in a database, and list its models"
    parser = subparsers.add_parser("ml", help=summary, description=summary[0].upper() + summary[1:] + ".")
    actions = parser.add_subparsers(required=True, metavar="ACTION")

    installing = "create the functions and the table of models; the server needs --udf, and this user --functions"
    install = actions.add_parser("install", help=installing, description=installing[0].upper() + installing[1:] + ".")
    install.add_argument("uri", metavar="URI", nargs="?", help="the server, as for colonnade read")
    install.add_argument(
        "--allow",
        metavar="ESTIMATOR",
        action="append",
        default=[],
        help="an estimator that train may use beside scikit-learn's common ones, such as package.module.Class; "
        "may be repeated; an installation without it withdraws those of an earlier one",
    )
    install.add_argument("--show", action="store_true", help="write the statements, and run nothing")
    install.set_defaults(run=run_install)

    listing = "list the models"
    list_ = actions.add_parser("list", help=listing, description=listing[0].upper() + listing[1:] + ".")
    list_.add_argument("uri", metavar="URI", help="the server, as for colonnade read")
    list_.add_argument("--json", action="store_true", help="write a JSON array of objects")
    list_.set_defaults(run=run_list)

    for action in (install, list_):
        action.add_argument(
            "--schema", metavar="NAME", default="main", help="the schema of the functions and the table (default: main)"
        )


def run_install(args: argparse.Namespace) -> int:
    # It needs numpy, which other commands do not.
    from colonnade_serve import ml
    from colonnade_serve.ml._statements import statements

    if args.show:
        say(";\n\n".join(statements(args.schema, args.allow)) + ";")
        return 0
    if args.uri is None:
        raise ValueError("the URI of the server is missing")
    ml.install(args.uri, schema=args.schema, allow=args.allow)
    tell(f"installed {len(statements(args.schema, args.allow)) - 1} functions and the table {args.schema}.models")
    return 0


def run_list(args: argparse.Namespace) -> int:
    from colonnade_serve import ml

    found: Any = ml.models(args.uri, schema=args.schema)
    if args.json:
        print(json.dumps(json.loads(found.to_json(orient="records", date_format="iso")), indent=2))
        return 0
    columns = ["name", "version", "task", "algorithm", "format", "rows", "size", "created_by"]
    rows = [
        ["" if value is None or value != value else str(value) for value in row]
        for row in zip(*(found[name] for name in columns), strict=True)
    ]
    table(columns, rows)
    say(f"({len(rows)} rows)")
    return 0
