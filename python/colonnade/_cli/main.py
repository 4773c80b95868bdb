"""The command `colonnade`."""

from __future__ import annotations

import argparse
import io
import os
import sys
import traceback
from collections.abc import Sequence

from colonnade._core import __version__
from colonnade._errors import Error
from colonnade._secrets import secrets
from colonnade._system.process import is_closed_pipe, write_unicode

from . import adbc, bench, completion, demo, doctor, read, server_part, tables, write
from .command_line import Parser
from .process import ending_by_exception, reserve_standard_streams
from .terminal import hide, say


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command. Returns the exit status: 0, 1 after an error, 2 after a wrong argument, 130 after Ctrl-C.
    SIGTERM and SIGHUP are a SystemExit with 143 and 129."""
    reserve_standard_streams()
    write_unicode()
    if sys.stderr is None:
        # It is closed. Messages have no reader, but must not end the command.
        sys.stderr = io.StringIO()
    arguments = sys.argv[1:] if arguments is None else arguments
    hide(secrets({str(place): argument for place, argument in enumerate(arguments)}))
    args = parser().parse_args(arguments)
    verbose = bool(args.verbose)
    try:
        with ending_by_exception():
            status = args.run(args)
        # An error of standard output must not wait for the interpreter's exit, where it has another status.
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        print("colonnade: interrupted", file=sys.stderr)
        return 130
    except (Error, ImportError, OSError, ValueError, TypeError) as error:
        if is_closed_pipe(error):
            # The reader of the output has closed it, as `| head` does. What is left must not be written at exit.
            if sys.stdout is not None:
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        if getattr(args, "uncaught", None) is error:
            # A function's own error, for a debugger (`colonnade udf run --uncaught`).
            raise
        if verbose:
            say(traceback.format_exc().rstrip("\n"), sys.stderr)
        else:
            say(f"colonnade: {_one_line(error)}", sys.stderr)
            for line in _place(error):
                say(line, sys.stderr)
        return 1


def parser() -> argparse.ArgumentParser:
    """The command line. The documentation's reference is generated from it."""
    parser = Parser(
        prog="colonnade",
        description="Large query results into dataframes, files and other databases, as fast as the link allows.",
    )
    parser.add_argument("--version", action="version", version=f"colonnade {__version__}")
    parser.add_argument("-v", "--verbose", action="store_true", help="show more, tracebacks included")
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser] = parser.add_subparsers(
        required=True, metavar="COMMAND", parser_class=Parser
    )
    for command in (read, write, tables, "serve", bench, doctor, "user", "udf", "ml", adbc, demo):
        if isinstance(command, str):
            server_part.add_arguments(command, subparsers)
        else:
            command.add_arguments(subparsers)
    completion.add_arguments(subparsers, parser)
    for subparser in subparsers.choices.values():
        # The option may follow the subcommand. If it does not, it must not reset the option before the subcommand.
        subparser.add_argument("-v", "--verbose", action="store_true", default=argparse.SUPPRESS, help="show more")
    return parser


def _place(error: BaseException) -> list[str]:
    """The lines in which the place in the query is marked. DuckDB's own are a part of its message."""
    if not isinstance(error, Error):
        return []
    _, marked, place = error.message.rpartition("\nLINE ")
    return (error.place or (f"LINE {place}" if marked else "")).splitlines()


def _one_line(error: BaseException) -> str:
    """The error and its hint, without the lines in which the database marks the place in the query."""
    if isinstance(error, Error):
        text = error.message.partition("\n")[0].rstrip()
        if error.sqlstate is not None:
            text += f" (SQLSTATE {error.sqlstate})"
        if error.source is not None:
            text = f"{error.source}: {text}"
        return f"{text}; {error.hint}" if error.hint is not None else text
    return str(error).partition("\n")[0] or type(error).__name__
