"""`colonnade serve`: a database behind PostgreSQL's protocol."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

DEFAULT_LISTEN = "127.0.0.1:5433"


def add_arguments(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand `serve`."""
    summary = "serve a DuckDB database over PostgreSQL's protocol, columnar where the client can read it"
    parser = subparsers.add_parser("serve", help=summary, description=summary[0].upper() + summary[1:] + ".")
    parser.add_argument(
        "database",
        nargs="?",
        default=":memory:",
        metavar="FILE.duckdb",
        help="the DuckDB database to serve, made if it does not exist; without one, a database in memory",
    )
    parser.add_argument(
        "--listen",
        metavar="HOST:PORT",
        help=f"a loopback address; port 0 takes a free one (default: {DEFAULT_LISTEN}, or none with --unix)",
    )
    parser.add_argument(
        "--unix",
        metavar="PATH",
        type=Path,
        help="a unix socket to make; in a directory it is made as .s.PGSQL.<port>, where psql looks for it",
    )
    parser.add_argument("--read-only", action="store_true", help="open the database for reading only")
    parser.add_argument(
        "--encode-cpu",
        metavar="SHARE",
        type=_share,
        default=1.0,
        help="how much of a CPU encoding may take for one client, from 0 (light encodings only) to 1 (the default)",
    )
    parser.set_defaults(run=run)


def _share(text: str) -> float:
    share = float(text)
    if not 0 <= share <= 1:
        raise ValueError(text)
    return share


def run(args: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM; the exit status."""
    stop_signals = {signal.SIGINT, signal.SIGTERM}
    # Blocked before any thread starts, so that all threads leave them to sigwait.
    signal.pthread_sigmask(signal.SIG_BLOCK, stop_signals)

    # Imported here: other subcommands need no DuckDB.
    from colonnade._core import Server

    try:
        from colonnade._engine import Engine
    except ModuleNotFoundError as error:
        raise SystemExit(f"colonnade: {error.name} is missing: pip install 'colonnade[serve]'") from None
    listen = args.listen or (None if args.unix else DEFAULT_LISTEN)
    try:
        engine = Engine(args.database, read_only=args.read_only)
        server = Server(engine, listen, args.unix, args.encode_cpu)
    except Exception as error:
        if getattr(args, "verbose", False):
            raise
        raise SystemExit(f"colonnade: {first_line(error)}") from None

    for address in server.addresses:
        print(f"listening on {address}", flush=True)
    signal.sigwait(stop_signals)
    server.stop()
    if server.sessions:
        # DuckDB did not let go of a statement in time; its threads must not meet a closing interpreter.
        os._exit(1)
    engine.close()
    return 0


def first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
