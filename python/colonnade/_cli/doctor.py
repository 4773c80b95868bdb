"""`colonnade doctor`: what is installed, what a database's connection is like, and what would make reads faster.

`installation.py` and `source_check.py` collect facts; `advice.py` derives advice from the facts alone.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from .advice import Advice, advice
from .installation import Installation, installation
from .source_check import SourceReport, check
from .terminal import say

if TYPE_CHECKING:
    import argparse

#: The width of the first column.
_WIDTH = 14
_TIMEOUT = 30.0


def add_arguments(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand `doctor`."""
    summary = "show versions, check a database's connection, and say what would make reads faster"
    description = (
        f"{summary[0].upper() + summary[1:]}. The report contains no password. The throughput is measured by reading "
        "at most 80 MB of generated text. The exit status is 1 if the database cannot be read, or if an optional "
        "package has a version that is not supported."
    )
    parser = subparsers.add_parser("doctor", help=summary, description=description)
    parser.add_argument("uri", metavar="URI", nargs="?", help="the database, as for colonnade read")
    parser.add_argument("--json", action="store_true", help="write a JSON object, for a bug report")
    limit = f"stop checking the database after so long (default: {_TIMEOUT:g})"
    parser.add_argument("--timeout", metavar="SECONDS", type=float, default=_TIMEOUT, help=limit)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Checks and prints. Returns the exit status."""
    if not 0 < args.timeout < float("inf"):
        raise ValueError("--timeout must be a number of seconds above 0")
    installed = installation()
    source = None if args.uri is None else check(args.uri, args.timeout)
    todo = advice(installed, source)
    if args.json:
        report = {
            "installation": asdict(installed),
            "source": source and asdict(source),
            "advice": [asdict(one) for one in todo],
        }
        # Escapes for all but ASCII: text of a database cannot control the terminal.
        print(json.dumps(report, indent=2))
    else:
        say("\n".join(_lines(installed, source, todo)))
    is_wrong = any(extra.state == "unsupported" for extra in installed.extras)
    status = int(is_wrong or (source is not None and not source.is_usable))
    if source is not None and source.unfinished is not None:
        # A thread still waits for the server, and the interpreter's end must not wait for it.
        sys.stdout.flush()
        os._exit(status)
    return status


def _lines(installed: Installation, source: SourceReport | None, todo: list[Advice]) -> Iterator[str]:
    yield "Installation"
    yield from _rows(
        ("colonnade", f"{installed.colonnade}, {installed.build} build, in {installed.location}"),
        ("Python", installed.python),
        ("platform", f"{installed.platform}, {installed.libc or 'C library unknown'}, {installed.cpus} CPUs"),
        ("memory", installed.memory),
        ("packages", ", ".join(f"{name} {version}" for name, version in installed.packages.items() if version) or None),
    )
    ready = [extra.name for extra in installed.extras if extra.state == "ready"]
    yield from _rows(("extras", ", ".join(ready) or None))
    for extra in installed.extras:
        if extra.state == "unsupported":
            yield from _rows(("unsupported", f"{extra.name}: {', '.join(extra.unsupported)}"))
        elif extra.state == "not installed":
            yield from _rows(("not installed", f"{extra.name}: {', '.join(extra.missing)}"))
    if not installed.extras:
        yield from _rows(("extras", "unknown, because the package's metadata is missing"))
    if source is not None:
        yield from ("", "Database", *_database(source))
    if todo:
        yield from ("", "What would make reads faster")
        for number, one in enumerate(todo, 1):
            yield from (f"  {number}. {one.what}.", f"     {one.how}")


def _rows(*rows: tuple[str, str | None]) -> Iterator[str]:
    """Lines of a name and its value, without unknown values."""
    for name, value in rows:
        if value is not None:
            yield f"  {name.ljust(_WIDTH)}  {value}"


def _database(source: SourceReport) -> Iterator[str]:
    yes = {True: "yes", False: "no", None: None}
    yield from _rows(
        ("name", source.name),
        ("reachable", yes[source.reachable]),
        ("login", source.login),
        ("server", source.server),
        ("results", _results(source)),
        ("extension", _extension(source)),
        ("connection", _connection(source)),
        ("connected in", _time(source.seconds_to_connect)),
    )
    if (times := source.round_trip) is not None:
        text = f"{_time(times['median'])} (median of small statements; lowest {_time(times['lowest'])})"
        yield from _rows(("round trip", text))
    if (read := source.throughput) is not None:
        size, rate = read["bytes"] / 1e6, read["bytes_per_second"] / 1e6
        text = f"{rate:.3g} MB/s without compression ({size:.3g} MB in {_time(read['seconds'])})"
        yield from _rows(("throughput", text))
    yield from _rows(*(("remark", remark) for remark in source.remarks), ("no answer", source.unfinished))
    if (error := source.error) is not None:
        state = f" (SQLSTATE {error['sqlstate']})" if error["sqlstate"] else ""
        yield from _rows(("error", f"{(error['message'] or '').partition(chr(10))[0]}{state}"), ("hint", error["hint"]))


def _results(source: SourceReport) -> str | None:
    if source.stream_format is not None:
        encoder = {"server": "colonnade serve", "extension": "the extension"}[source.stream_format["encoder"]]
        return f"compressed columns from {encoder}, format {source.stream_format['version']}"
    if source.socket is not None:
        return "rows in the database's own protocol"
    return "from a library in this process" if source.login == "accepted" else None


def _extension(source: SourceReport) -> str | None:
    if source.extension is None:
        return None
    there, files = source.extension["installed"], source.extension["available"]
    on_server = f"files of version {files} on the server" if files else "no files on the server"
    return f"version {there} in this database, {on_server}" if there else f"not in this database, {on_server}"


def _connection(source: SourceReport) -> str | None:
    if source.socket is None:
        return None
    kinds = {"unix": "unix socket", "loopback": "TCP within this machine", "tcp": "TCP"}
    if source.tls is None:
        return f"{kinds[source.socket]}, not encrypted"
    verified = "verified" if source.tls["verified"] else "not verified"
    return f"{kinds[source.socket]}, {source.tls['version']} ({source.tls['cipher']}), certificate {verified}"


def _time(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"
