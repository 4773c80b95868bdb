"""The arguments of `colonnade udf inputs`, `run`, `debug`, `test` and `key`, which run functions in this process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .udf_files import add_project

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable


def add_arguments(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the actions."""
    parser = action(actions, "inputs", "save what a query gives a function")
    add_query(parser, is_required=True)
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="the file: in .colonnade/ if not given")
    parser.set_defaults(run=starts("inputs"))
    parser = action(actions, "run", "call a function in this process, with the inputs of a query")
    add_query(parser, is_required=False)
    parser.add_argument(
        "--check", action="store_true", help="compare the results with those of the database's function"
    )
    parser.add_argument("--save", action="store_true", help="keep inputs and results beside the file, for test")
    parser.add_argument(
        "--uncaught", action="store_true", help="let the function's error end the process, so that debuggers stop at it"
    )
    parser.set_defaults(run=starts("run"))
    parser = action(actions, "debug", "call a function in this process, in pdb or another debugger")
    add_query(parser, is_required=False)
    parser.add_argument("--listen", type=int, metavar="PORT", help="wait for a debugger on this port (debugpy)")
    parser.set_defaults(run=starts("debug"))
    parser = actions.add_parser("test", help="run saved inputs, and compare the results with those that are saved")
    parser.add_argument("names", metavar="NAME", nargs="*", help="a function; all without one")
    add_project(parser)
    parser.set_defaults(run=starts("test"))
    parser = actions.add_parser("key", help="make a key for inputs that are encrypted at rest")
    parser.add_argument("path", metavar="FILE", type=Path)
    parser.set_defaults(run=starts("key"))


def action(
    actions: argparse._SubParsersAction[argparse.ArgumentParser], name: str, summary: str
) -> argparse.ArgumentParser:
    parser = actions.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
    parser.add_argument("name", metavar="NAME", help="a function that was pulled: name, schema.name, or its file")
    add_project(parser)
    return parser


def add_query(parser: argparse.ArgumentParser, *, is_required: bool) -> None:
    where = parser.add_mutually_exclusive_group(required=is_required)
    where.add_argument("--sql", metavar="QUERY", help="the query; @FILE reads it from a file, - from standard input")
    if not is_required:
        where.add_argument("--inputs", type=Path, metavar="FILE", help="saved inputs; those fetched last if not given")
        parser.add_argument("--offline", action="store_true", help="answer _conn's queries as they were recorded")
    parser.add_argument("--call", type=int, default=1, metavar="N", help="which of the query's calls of the function")
    parser.add_argument("--sample", type=int, metavar="N", help="a uniform sample of N rows")
    parser.add_argument("--groups", action="store_true", help="sample whole groups of an aggregate, not rows")
    parser.add_argument("--seed", type=int, metavar="N", help="the same sample again")
    parser.add_argument("--compression", metavar="NAME", help="how inputs arrive: plain, light, light+zstd-3, …")
    parser.add_argument("--key-file", type=Path, metavar="FILE", help="encrypt and decrypt what is saved with this key")


def starts(name: str) -> Callable[[argparse.Namespace], int]:
    """What runs an action. Its modules are imported then, because they need packages that are extras."""

    def start(args: argparse.Namespace) -> int:
        try:
            from . import udf_run
        except ModuleNotFoundError as error:
            raise ImportError(f"{error.name} is missing: pip install 'colonnade[udf]'") from None
        run: Callable[[argparse.Namespace], int] = getattr(udf_run, f"run_{name}")
        return run(args)

    return start
