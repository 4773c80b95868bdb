"""`colonnade serve`: a database behind PostgreSQL's protocol."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from colonnade._serve.settings import Database, size
from colonnade._serve.supervisor import serve
from colonnade._sources.secrets import secrets

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from colonnade._core import Listening, ServerOptions

DEFAULT_LISTEN = "127.0.0.1:5433"


def add_arguments(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand `serve`."""
    summary = "serve a database over PostgreSQL's protocol, columnar where the client can read it"
    parser = subparsers.add_parser("serve", help=summary, description=summary[0].upper() + summary[1:] + ".")
    parser.add_argument(
        "database",
        nargs="?",
        metavar="FILE.duckdb",
        help="the DuckDB database to serve; without one, a database in memory",
    )
    parser.add_argument("--create", action="store_true", help="make FILE.duckdb if it does not exist")
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
    _add_access(parser.add_argument_group("logins and encryption"))
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
    limit(
        "--max-address-logins",
        "N",
        int,
        0,
        "connections of one address that have not logged in; the oldest makes room "
        "(by default as many as sessions, 128 at least)",
    )
    limit("--login-timeout", "SECONDS", _seconds, 60, "from connecting to the end of the login")
    limit("--statement-timeout", "SECONDS", _seconds, 3600, "a statement's time, its result's way included")
    limit("--idle-timeout", "SECONDS", _seconds, 43200, "between statements")
    limit("--idle-transaction-timeout", "SECONDS", _seconds, 600, "between statements of a transaction")
    limit("--max-result-bytes", "BYTES", size, 0, "a result's size as it is sent, such as 10GB")
    limit(
        "--max-session-memory",
        "BYTES",
        size,
        "256MiB",
        "what one session may have the server keep: prepared statements, values, rows of portals, data of COPY",
    )
    limit("--max-statement-bytes", "BYTES", size, 16_000_000, "a statement's length, such as 1MB")
    limit("--memory", "SIZE", str, None, "DuckDB's memory, such as 4GB; by default 80 %% of the machine's")
    limit("--threads", "N", int, None, "DuckDB's threads; by default one a core")
    limit("--temp-directory", "PATH", str, None, "where DuckDB puts what does not fit; by default beside the database")
    limit(
        "--temp-size",
        "SIZE",
        str,
        None,
        "how much it may put there, and how much of all sessions' results may be set aside there besides; "
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


def _spool_bytes(temp_size: str | None) -> int:
    """The bytes of all results that may be set aside; 0, which is no limit, for one of DuckDB's shares of the disk."""
    if temp_size is None or temp_size.strip().endswith("%"):
        return 0
    try:
        return size(temp_size.replace(" ", ""))
    except (KeyError, ValueError):
        raise SystemExit(f"colonnade: --temp-size {temp_size} is no size; use one such as 10GB") from None


def _spool_directory(args: argparse.Namespace) -> str | None:
    """Where results are set aside: where DuckDB puts what does not fit. A database in memory and a source have no such
    place unless the operator names one; None is the session's memory."""
    if args.temp_directory is not None:
        return args.temp_directory
    return None if args.database in (None, ":memory:") else f"{args.database}.tmp"


def run(args: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM; the exit status."""
    if (args.tls_certificate is None) != (args.tls_key is None):
        raise SystemExit("colonnade: --tls-certificate and --tls-key go together")
    if args.tls_client_ca is not None and args.tls_certificate is None:
        raise SystemExit("colonnade: --tls-client-ca needs --tls-certificate and --tls-key")
    if args.log_statements and args.log is None:
        raise SystemExit("colonnade: --log-statements needs --log")
    spool_bytes = _spool_bytes(args.temp_size)
    if args.source is not None:
        check_source_arguments(args)
    elif importlib.util.find_spec("duckdb") is None:
        raise SystemExit("colonnade: duckdb is missing: pip install 'colonnade[serve]'")
    listening: Listening = {
        "listen": args.listen or (None if args.unix else DEFAULT_LISTEN),
        "unix": args.unix,
        "users": args.users,
        "tls_certificate": args.tls_certificate,
        "tls_key": args.tls_key,
        "tls_client_ca": args.tls_client_ca,
        "log": args.log,
        "metrics": args.metrics,
    }
    options: ServerOptions = {
        "encode_cpu": args.encode_cpu,
        "max_connections": args.max_connections,
        "max_user_connections": args.max_user_connections,
        "max_address_logins": args.max_address_logins,
        "login_timeout": args.login_timeout,
        "statement_timeout": args.statement_timeout,
        "idle_timeout": args.idle_timeout,
        "idle_transaction_timeout": args.idle_transaction_timeout,
        "max_result_bytes": args.max_result_bytes,
        "max_session_memory": args.max_session_memory,
        "spool_bytes": spool_bytes,
        "spool_directory": _spool_directory(args),
        "log_statements": args.log_statements,
    }
    engine = source_behind(args.source) if args.source is not None else _database(args)
    return serve(engine, listening, options, grace=args.grace, verbose=args.verbose)


def _database(args: argparse.Namespace) -> Database:
    return Database(
        path=args.database,
        create=args.create,
        read_only=args.read_only,
        allow_files=args.allow_files,
        max_statement_bytes=args.max_statement_bytes,
        memory=args.memory,
        threads=args.threads,
        temp_directory=args.temp_directory,
        temp_size=args.temp_size,
    )


#: Options that are about the DuckDB of a server of its own.
DUCKDBS = ("database", "create", "read_only", "allow_files", "memory", "threads")


def check_source_arguments(args: argparse.Namespace) -> None:
    """Refuse, with --source, what is about DuckDB."""
    given = [name for name in DUCKDBS if getattr(args, name)]
    if given:
        name = "FILE.duckdb" if given[0] == "database" else f"--{given[0].replace('_', '-')}"
        raise SystemExit(f"colonnade: {name} is for a DuckDB database, and goes without --source")


def source_behind(argument: str) -> str:
    """The URI of the database that --source means."""
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
    return uri


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
