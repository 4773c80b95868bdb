"""`colonnade udf`: functions in Python as files, and the signatures of a database file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from colonnade._cli.terminal import say, shown

from . import udf_files, udf_local

if TYPE_CHECKING:
    import argparse


def add_arguments(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand `udf`."""
    summary = "functions in Python: pull them as files, run and debug them on real inputs, push them"
    parser = subparsers.add_parser("udf", help=summary, description=summary[0].upper() + summary[1:] + ".")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    udf_files.add_arguments(actions)
    udf_local.add_arguments(actions)
    signing = "list the functions that this server has not created, and sign them, so that they can be called"
    trust = actions.add_parser("trust", help=signing, description=signing[0].upper() + signing[1:] + ".")
    trust.add_argument("database", metavar="FILE", type=Path, help="the database file, which no server may have open")
    trust.add_argument("--source", action="store_true", help="show the text of each function")
    trust.add_argument("--yes", action="store_true", help="sign without a question")
    trust.set_defaults(run=run_trust)


def run_trust(args: argparse.Namespace) -> int:
    # DuckDB is an extra of the package.
    from colonnade_serve._duckdb.function_trust import FunctionFile

    if not args.database.is_file():
        raise ValueError(f"there is no file {args.database}")
    with FunctionFile(args.database) as file:
        found = file.untrusted()
        if not found:
            print("all functions are signed")
            return 0
        for entry in found:
            definition = entry.definition
            # Texts of somebody else's file. What is signed must not hide, neither behind other lines.
            name = f"{definition.schema}.{definition.signature}"
            print("\t".join(map(shown, (name, definition.kind, entry.created_by, entry.created_at))))
            for parameter in definition.parameters:
                if parameter.default is not None:
                    print(shown(f"{parameter.name} DEFAULT {parameter.default}"))
            if args.source:
                say(definition.source)
        if not args.yes and not confirmed(len(found)):
            print("nothing was signed")
            return 1
        file.sign()
    print(f"signed {len(found)}")
    return 0


def confirmed(count: int) -> bool:
    """Ask on the terminal."""
    if not sys.stdin.isatty():
        raise ValueError("there is no terminal to ask: --yes signs without a question")
    return input(f"Sign {'this function' if count == 1 else f'these {count} functions'}? [y/N] ").strip().lower() == "y"
