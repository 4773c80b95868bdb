"""`colonnade serve`: a database behind PostgreSQL's protocol."""

from __future__ import annotations

import importlib.util
import ipaddress
import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colonnade._cli.numbers import byte_size, count, positive, seconds, share
from colonnade._options.sizes import size
from colonnade._secrets import masked, secrets

from colonnade_serve._serve.functions import Functions
from colonnade_serve._serve.options import Listening, ServerOptions
from colonnade_serve._serve.settings import Database
from colonnade_serve._serve.supervisor import serve

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable

DEFAULT_LISTEN = "127.0.0.1:5433"


def add_arguments(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand `serve`."""
    summary = "serve a database over PostgreSQL's protocol, columnar where the client can read it"
    parser = subparsers.add_parser("serve", help=summary, description=summary[0].upper() + summary[1:] + ".")
    parser.add_argument(
        "path", nargs="?", metavar="FILE.duckdb", help="the DuckDB database to serve; without it, one in memory"
    )
    parser.add_argument("--create", action="store_true", help="make FILE.duckdb if it does not exist")
    parser.add_argument(
        "--source",
        metavar="URI",
        help="serve another database: postgresql://, mysql://, sqlite:, adbc: or odbc:, with one connection for each "
        "client; env:NAME takes the URI from an environment variable, @FILE from a file",
    )
    parser.add_argument(
        "--listen",
        metavar="HOST:PORT",
        help="an address; port 0 takes a free one; connections of other machines need --users and --tls-certificate "
        f"(default: {DEFAULT_LISTEN}, or none with --unix)",
    )
    parser.add_argument(
        "--unix",
        metavar="PATH",
        type=Path,
        help="a unix socket to create; in a directory its name is .s.PGSQL.<port>, which psql uses",
    )
    parser.add_argument("--read-only", action="store_true", help="open the database for reading only")
    parser.add_argument(
        "--encode-cpu",
        metavar="SHARE",
        type=share,
        default=1.0,
        help="the share of one CPU for encoding for one client, from 0 (light encodings only) to 1 (the default)",
    )
    _add_access(parser.add_argument_group("logins and encryption"))
    _add_functions(parser.add_argument_group("functions in Python"))
    _add_limits(parser.add_argument_group("limits", "Times are in seconds; 0 is no limit."))
    watching = parser.add_argument_group("watching")
    watching.add_argument(
        "--log", metavar="FILE", type=Path, help="a line for each login, failure and end; - is standard error"
    )
    watching.add_argument(
        "--log-statements",
        action="store_true",
        help="also log statements, without values of parameters; only the first words of one that may have a password",
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
        help="encrypted connections also need a certificate with the user's name, signed by one of these authorities",
    )
    group.add_argument(
        "--allow-files",
        action="store_true",
        help="let clients read and write files with the permissions of this process (read_csv, COPY TO, ATTACH)",
    )


def _add_functions(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--udf",
        action="store_true",
        help="let users with the right create functions in Python, and all users call them",
    )
    group.add_argument(
        "--udf-python",
        metavar="PATH",
        help="the interpreter of functions: CPython 3.11 or newer with numpy; its packages are those that functions "
        "can import (default: this one)",
    )
    group.add_argument(
        "--udf-preload",
        metavar="MODULE,...",
        type=lambda text: text.split(","),
        help="modules that are imported once for all functions; numpy always is",
    )
    group.add_argument(
        "--udf-isolation",
        choices=("sandbox", "process", "none"),
        help="sandbox: a function reads its libraries and nothing else; process: it has the rights of its user; none: "
        "it runs in the server, which has no --users then (default: sandbox)",
    )
    group.add_argument(
        "--udf-max-workers",
        metavar="N",
        type=int,
        help="processes for functions at a time (default: 4 a CPU)",
    )
    group.add_argument("--udf-workers", metavar="N", type=int, help="processes for functions of a session at a time")
    group.add_argument("--udf-memory", metavar="BYTES", type=size, help="memory of each of them (default: 2GiB)")
    group.add_argument(
        "--udf-timeout", metavar="SECONDS", type=seconds, help="a call's time (default: 0, the statement's)"
    )
    group.add_argument(
        "--udf-read",
        metavar="PATH",
        action="append",
        help="a file or directory that functions may read besides their libraries; may be repeated",
    )
    group.add_argument(
        "--udf-user", metavar="NAME", help="the system's user that runs functions; needed if the server runs as root"
    )


def _functions(args: argparse.Namespace) -> Functions | None:
    """The options of functions; None without --udf."""
    # None are those that are not given.
    options: dict[str, Any] = {name: getattr(args, f"udf_{name}") for name in Functions.__annotations__}
    given = {name: value for name, value in options.items() if value is not None}
    if not args.udf:
        if given:
            raise SystemExit(f"colonnade: --udf-{min(given).replace('_', '-')} goes with --udf")
        return None
    for name in ("max_workers", "workers", "memory"):
        if given.get(name, 1) < 1:
            raise SystemExit(f"colonnade: --udf-{name.replace('_', '-')} is 1 at least")
    defaults: dict[str, Any] = {
        "preload": [],
        "isolation": "sandbox",
        "max_workers": 4 * (os.cpu_count() or 1),
        "memory": size("2GiB"),
        "timeout": 0,
        "read": [],
    }
    functions = Functions(**options | defaults | given)
    if functions.isolation == "none":
        check_local(args)
    for path in functions.read:
        if not Path(path).exists():
            raise SystemExit(f"colonnade: there is no {path}: --udf-read")
    return replace(functions, read=[str(Path(path).absolute()) for path in functions.read])


def check_local(args: argparse.Namespace) -> None:
    """Refuse functions in the server's process where others than this user could call them, and options of function
    processes."""
    if args.users is not None:
        raise SystemExit(
            "colonnade: --udf-isolation=none gives functions the server's rights, and goes without --users"
        )
    host = (args.listen or "").rpartition(":")[0].strip("[]")
    if host and host != "localhost" and not is_loopback(host):
        raise SystemExit(f"colonnade: --udf-isolation=none goes with a loopback address or --unix, and not with {host}")
    for name in ("python", "read", "user"):
        if getattr(args, f"udf_{name}"):
            raise SystemExit(f"colonnade: --udf-{name} is for processes, and goes without --udf-isolation=none")


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _add_limits(group: argparse._ArgumentGroup) -> None:
    def limit(
        name: str, metavar: str, type_: Callable[[str], object], default: object, help_: str, dest: str | None = None
    ) -> None:
        shown = "" if default is None else f" (default: {default})"
        dest = dest or name.strip("-").replace("-", "_")
        group.add_argument(name, metavar=metavar, type=type_, default=default, help=help_ + shown, dest=dest)

    limit("--max-connections", "N", count, 256, "sessions at a time")
    limit("--max-user-connections", "N", count, 0, "sessions of one user at a time")
    limit(
        "--max-address-logins",
        "N",
        count,
        0,
        "connections of one address that have not logged in; a further one closes the oldest "
        "(by default as many as sessions, 128 at least)",
    )
    limit("--login-timeout", "SECONDS", seconds, 60, "from connecting to the end of the login")
    limit("--statement-timeout", "SECONDS", seconds, 3600, "a statement's time, including sending its result")
    limit("--idle-timeout", "SECONDS", seconds, 43200, "between statements")
    limit("--idle-transaction-timeout", "SECONDS", seconds, 600, "between statements of a transaction")
    limit("--max-result-bytes", "BYTES", byte_size, 0, "a result's size as it is sent, such as 10GB")
    limit(
        "--max-session-memory", "BYTES", byte_size, "256MiB", "one session's statements, values, portals and COPY data"
    )
    limit("--max-statement-bytes", "BYTES", byte_size, 16_000_000, "a statement's length, such as 1MB")
    limit("--max-columns", "N", positive, 5000, "a result's columns; those of a result as rows are at most 1664")
    limit("--memory", "SIZE", str, None, "DuckDB's memory, such as 4GB; by default 80 %% of the machine's")
    limit("--threads", "N", positive, None, "DuckDB's threads; by default one a core")
    limit(
        "--temp-directory", "PATH", str, None, "DuckDB's directory for temporary data; by default beside the database"
    )
    limit(
        "--temp-size",
        "SIZE",
        str,
        None,
        "the most temporary data there, and the most bytes of all suspended results; "
        "by default 90 %% of the free space",
    )
    limit(
        "--spool-size", "BYTES", byte_size, "10GiB", "all results of colonnade_spool, such as 10GB", dest="ticket_bytes"
    )
    limit(
        "--spool-user-size",
        "BYTES",
        byte_size,
        None,
        "those of one user; by default half of --spool-size with --users, and all of it without",
        dest="user_ticket_bytes",
    )
    limit(
        "--spool-directory",
        "PATH",
        str,
        None,
        "the directory for results of colonnade_spool; by default that for temporary data",
        dest="ticket_directory",
    )
    limit("--spool-ttl", "SECONDS", seconds, 3600, "a ticket's life after its last use", dest="ticket_ttl")
    limit("--grace", "SECONDS", seconds, 30, "after SIGTERM, for statements and transactions to end")


def _spool_bytes(temp_size: str | None) -> int:
    """The most bytes of all suspended results. 0 means no limit, also if DuckDB's limit is a share of the disk."""
    if temp_size is None or temp_size.strip().endswith("%"):
        return 0
    try:
        return size(temp_size.replace(" ", ""))
    except (KeyError, ValueError):
        raise SystemExit(f"colonnade: --temp-size {temp_size} is not a size; write one such as 10GB") from None


def _spool_directory(args: argparse.Namespace) -> str | None:
    """The directory for suspended results, which is also DuckDB's temporary directory. A database in memory and a
    source have none unless the operator gives one. None means the session's memory."""
    if args.temp_directory is not None:
        return args.temp_directory
    return None if args.path in (None, ":memory:") else f"{args.path}.tmp"


def run(args: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM. Returns the exit status."""
    check_given(args)
    if (args.tls_certificate is None) != (args.tls_key is None):
        raise SystemExit("colonnade: --tls-certificate and --tls-key go together")
    if args.tls_client_ca is not None and args.tls_certificate is None:
        raise SystemExit("colonnade: --tls-client-ca needs --tls-certificate and --tls-key")
    if args.log_statements and args.log is None:
        raise SystemExit("colonnade: --log-statements needs --log")
    args.spool_bytes = _spool_bytes(args.temp_size)
    if args.user_ticket_bytes is None:
        # 0 is no limit of its own.
        args.user_ticket_bytes = (args.ticket_bytes + 1) // 2 if args.users is not None else 0
    if args.source is not None:
        check_source_arguments(args)
    elif importlib.util.find_spec("duckdb") is None:
        raise SystemExit("colonnade: duckdb is missing: pip install 'colonnade[serve]'")
    args.listen = args.listen or (None if args.unix else DEFAULT_LISTEN)
    args.spool_directory = _spool_directory(args)
    listening = Listening(**_named(args, Listening.__annotations__))
    options = ServerOptions(**_named(args, ServerOptions.__annotations__))
    args.functions = _functions(args)
    database = Database(**_named(args, Database.__annotations__))
    engine = database if args.source is None else source_behind(args.source)
    return serve(engine, listening, options, grace=args.grace, verbose=args.verbose)


def check_given(args: argparse.Namespace) -> None:
    """Refuse empty arguments: unset variables of a script. An empty FILE.duckdb would be a database in memory. Refuse a
    URI in its place, which could have a password: the worker shows the file's name."""
    if args.path is not None and "://" in args.path:
        raise SystemExit(f"colonnade: {masked(args.path)} is a URI, not a file: serve it by --source URI")
    for name, value in vars(args).items():
        if value == "":
            option = {"path": "FILE.duckdb", "ticket_directory": "--spool-directory"}.get(name)
            raise SystemExit(f"colonnade: {option or '--' + name.replace('_', '-')} is empty")


def _named(args: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    """The arguments of these names."""
    return {name: getattr(args, name) for name in names}


#: Options that only a DuckDB database has.
DUCKDB_OPTIONS = ("path", "create", "read_only", "allow_files", "memory", "threads", "udf")


def check_source_arguments(args: argparse.Namespace) -> None:
    """Refuse `DUCKDB_OPTIONS` together with --source."""
    given = [name for name in DUCKDB_OPTIONS if getattr(args, name)]
    if given:
        name = "FILE.duckdb" if given[0] == "path" else f"--{given[0].replace('_', '-')}"
        raise SystemExit(f"colonnade: {name} is for a DuckDB database, and goes without --source")


def source_behind(argument: str) -> str:
    """The URI of the database in front of which the server runs."""
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
    """The argument itself, or the URI to which `env:NAME` or `@FILE` refers."""
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
