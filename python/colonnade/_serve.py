"""`colonnade serve`: a database behind PostgreSQL's protocol."""

from __future__ import annotations

import os
import re
import resource
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ._secrets import secrets

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from colonnade._core import Server, SourceEngine
    from colonnade._engine import Engine

DEFAULT_LISTEN = "127.0.0.1:5433"


def add_arguments(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand `serve`."""
    summary = "serve a database over PostgreSQL's protocol, columnar where the client can read it"
    parser = subparsers.add_parser("serve", help=summary, description=summary[0].upper() + summary[1:] + ".")
    parser.add_argument(
        "database",
        nargs="?",
        metavar="FILE.duckdb",
        help="the DuckDB database to serve, made if it does not exist; without one, a database in memory",
    )
    parser.add_argument(
        "--source",
        metavar="URI",
        help="stand in front of another database: postgresql://, mysql://, sqlite:, adbc: or odbc:, each client with a "
        "connection of its own; env:NAME takes the URI from an environment variable, @FILE from a file",
    )
    parser.add_argument(
        "--listen",
        metavar="HOST:PORT",
        help="an address; port 0 takes a free one; other machines' connections need --users and --tls-certificate "
        f"(default: {DEFAULT_LISTEN}, or none with --unix)",
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
    _add_access(parser.add_argument_group("who may come in"))
    _add_limits(parser.add_argument_group("limits", "Times are in seconds; 0 is no limit."))
    watching = parser.add_argument_group("watching")
    watching.add_argument(
        "--log", metavar="FILE", type=Path, help="a line for each login, failure and end; - is standard error"
    )
    watching.add_argument(
        "--log-statements",
        action="store_true",
        help="statements too, without parameters' values; of those that may hold a password only their first words",
    )
    watching.add_argument(
        "--metrics", metavar="HOST:PORT", help="a loopback address for /metrics (Prometheus) and /health"
    )
    parser.set_defaults(run=run)


def _add_access(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--users", metavar="FILE", type=Path, help="only these users, with their passwords (see `colonnade user`)"
    )
    group.add_argument("--tls-certificate", metavar="FILE", type=Path, help="encrypt with this certificate (PEM)")
    group.add_argument("--tls-key", metavar="FILE", type=Path, help="its private key")
    group.add_argument(
        "--tls-client-ca",
        metavar="FILE",
        type=Path,
        help="encrypted connections need a certificate too, of the user's name and signed by one of these authorities",
    )
    group.add_argument(
        "--allow-files",
        action="store_true",
        help="let clients read and write the files that this process may (read_csv, COPY TO, ATTACH)",
    )


def _add_limits(group: argparse._ArgumentGroup) -> None:
    def limit(name: str, metavar: str, type_: Callable[[str], object], default: object, help_: str) -> None:
        shown = "" if default is None else f" (default: {default})"
        group.add_argument(name, metavar=metavar, type=type_, default=default, help=help_ + shown)

    limit("--max-connections", "N", int, 256, "sessions at a time")
    limit("--max-user-connections", "N", int, 0, "sessions of one user at a time")
    limit("--login-timeout", "SECONDS", _seconds, 60, "from connecting to the end of the login")
    limit("--statement-timeout", "SECONDS", _seconds, 3600, "a statement's time, its result's way included")
    limit("--idle-timeout", "SECONDS", _seconds, 43200, "between statements")
    limit("--idle-transaction-timeout", "SECONDS", _seconds, 600, "between statements of a transaction")
    limit("--max-result-bytes", "BYTES", _size, 0, "a result's size as it is sent, such as 10GB")
    limit("--memory", "SIZE", str, None, "DuckDB's memory, such as 4GB; by default 80 %% of the machine's")
    limit("--threads", "N", int, None, "DuckDB's threads; by default one a core")
    limit("--temp-directory", "PATH", str, None, "where DuckDB puts what does not fit; by default beside the database")
    limit(
        "--temp-size",
        "SIZE",
        str,
        None,
        "how much it may put there, and how much of one result may be set aside while another statement runs; "
        "by default 90 %% of what is free",
    )
    limit("--grace", "SECONDS", _seconds, 30, "after SIGTERM, for statements and transactions to end")


def _share(text: str) -> float:
    share = float(text)
    if not 0 <= share <= 1:
        raise ValueError(text)
    return share


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds < 1e9:
        raise ValueError(text)
    return seconds


UNITS = {"": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
UNITS |= {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}


def _size(text: str) -> int:
    number = text.lower().rstrip("kmgtib")
    return int(float(number) * UNITS[text.lower().removeprefix(number)])


def _spool_bytes(temp_size: str | None) -> int:
    """How much of one result may be set aside: DuckDB's sizes in bytes, its shares of the disk as no limit."""
    if temp_size is None or temp_size.strip().endswith("%"):
        return 0
    try:
        return _size(temp_size.replace(" ", ""))
    except (KeyError, ValueError):
        raise SystemExit(f"colonnade: --temp-size {temp_size} is no size; use one such as 10GB") from None


def run(args: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM; the exit status."""
    if (args.tls_certificate is None) != (args.tls_key is None):
        raise SystemExit("colonnade: --tls-certificate and --tls-key go together")
    if args.tls_client_ca is not None and args.tls_certificate is None:
        raise SystemExit("colonnade: --tls-client-ca needs --tls-certificate and --tls-key")
    if args.log_statements and args.log is None:
        raise SystemExit("colonnade: --log-statements needs --log")
    args.spool_bytes = _spool_bytes(args.temp_size)
    if args.source is not None:
        check_source_arguments(args)
    # Blocked before any thread starts, so that all threads leave them to sigwait.
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    # A client takes a descriptor; what a shell allows by default is little.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    from colonnade._core import Server

    listen = args.listen or (None if args.unix else DEFAULT_LISTEN)
    try:
        engine = in_front_of(args.source) if args.source is not None else duckdb_engine(args)
        server = Server(engine, args, listen, args.unix)
    except Exception as error:
        if getattr(args, "verbose", False):
            raise
        raise SystemExit(f"colonnade: {first_line(error)}") from None

    for address in server.addresses:
        print(f"listening on {address}", flush=True)
    if server.metrics is not None:
        print(f"metrics on http://{server.metrics}/metrics", flush=True)
    if wait_for_the_end(server) == signal.SIGTERM:
        drain(server, args.grace)
    server.stop()
    if server.sessions:
        # DuckDB did not let go of a statement in time; its threads must not meet a closing interpreter.
        os._exit(1)
    engine.close()
    return 0


def duckdb_engine(args: argparse.Namespace) -> Engine:
    # Imported here: other subcommands need no DuckDB.
    try:
        from colonnade._engine import Engine
        from colonnade._fences import Fences
    except ModuleNotFoundError as error:
        raise SystemExit(f"colonnade: {error.name} is missing: pip install 'colonnade[serve]'") from None
    fences = Fences(args.allow_files, args.memory, args.threads, args.temp_directory, args.temp_size)
    return Engine(args.database or ":memory:", read_only=args.read_only, fences=fences)


#: Options that are about the DuckDB of a server of its own.
DUCKDBS = ("database", "read_only", "allow_files", "memory", "threads", "temp_directory")


def check_source_arguments(args: argparse.Namespace) -> None:
    """Refuse, with --source, what is about DuckDB."""
    given = [name for name in DUCKDBS if getattr(args, name)]
    if given:
        name = "FILE.duckdb" if given[0] == "database" else f"--{given[0].replace('_', '-')}"
        raise SystemExit(f"colonnade: {name} is for a DuckDB database, and goes without --source")


def in_front_of(argument: str) -> SourceEngine:
    """The database that --source means; it is connected to once, to see whether that works."""
    from colonnade import _connection
    from colonnade._core import SourceEngine

    uri = source_uri(argument)
    if re.match(r"duckdb\s*:", uri, re.IGNORECASE):
        raise SystemExit("colonnade: a DuckDB database is served without --source: colonnade serve FILE.duckdb")
    if uri == argument and secrets({"uri": uri}):
        print(
            "colonnade: the command line shows the source's password to all users of this machine: "
            "use --source env:NAME or --source @FILE",
            file=sys.stderr,
            flush=True,
        )
    return SourceEngine(lambda: _connection._source(uri, gateway=True))


def source_uri(argument: str) -> str:
    """The URI that is meant by itself, by `env:NAME` or by `@FILE`."""
    if argument.startswith("env:"):
        name = argument.removeprefix("env:")
        uri = os.environ.pop(name, "")
        if not uri:
            raise SystemExit(f"colonnade: --source {argument}: the environment has no variable {name}")
        return uri.strip()
    if argument.startswith("@"):
        try:
            uri = Path(argument[1:]).read_text().strip()
        except OSError as error:
            raise SystemExit(f"colonnade: --source {argument}: {error.strerror}") from None
        if not uri:
            raise SystemExit(f"colonnade: --source {argument}: the file is empty")
        return uri
    return argument


SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


def wait_for_the_end(server: Server) -> int:
    """Which signal ends it. SIGHUP does not: users and certificates are read again."""
    while (received := signal.sigwait(SIGNALS)) == signal.SIGHUP:
        try:
            server.reload()
        except OSError as error:
            print(f"colonnade: everything stays as it was: {first_line(error)}", file=sys.stderr, flush=True)
    return received


def drain(server: Server, grace: float) -> None:
    """Wait for what runs, until the grace is over or a second signal comes."""
    end = time.monotonic() + grace
    while not server.drain(0.1) and time.monotonic() < end:
        if signal.sigtimedwait(SIGNALS - {signal.SIGHUP}, 0) is not None:
            return


def first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
