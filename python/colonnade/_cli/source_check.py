"""What a database's connection is like: reachable, its server, its encryption, its round trip and throughput.

The checks run in a thread of their own, so that a server that does not answer cannot hold up the report.
"""

from __future__ import annotations

import queue
import socket
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from colonnade._connection import connect
from colonnade._core import Connection
from colonnade._errors import Error
from colonnade._secrets import redacted, secrets

#: Statements whose time is measured.
_ROUND_TRIPS = 7
#: Rows of the reads that measure the throughput, each of `_ROW_BYTES`. A read that takes `_ENOUGH` seconds is the last
#: one. MySQL's recursive queries give at most 1,000 rows by default.
_ROWS = (1, 8, 64, 256, 1000)
_ROW_BYTES = 65_536
_ENOUGH = 0.2
#: The time for a probe of an address whose server did not accept the connection.
_PROBE = 3.0

_RECURSIVE = (
    "with recursive n(i) as (select 1 union all select i + 1 from n where i < {rows}) select {value} as v from n"
)
#: Queries that give long texts, by the dialect's first word. The server needs little time to make them.
_TEXTS = {
    "postgresql": f"select repeat('x', {_ROW_BYTES}) as v from generate_series(1, {{rows}})",
    "duckdb": f"select repeat('x', {_ROW_BYTES}) as v from generate_series(1, {{rows}})",
    "mysql": _RECURSIVE.replace("{value}", f"repeat('x', {_ROW_BYTES})"),
    "sqlite": _RECURSIVE.replace("{value}", f"hex(zeroblob({_ROW_BYTES // 2}))"),
}


@dataclass
class SourceReport:
    """What was found. None is unknown, or does not exist for this source."""

    #: The URI without its password; None if it cannot be read.
    name: str | None = None
    #: Whether its address accepts connections.
    reachable: bool | None = None
    login: Literal["accepted", "refused"] | None = None
    #: The server's software and version.
    server: str | None = None
    seconds_to_connect: float | None = None
    #: Who sends the Colonnade format, and its version; None if results arrive in the database's own protocol.
    stream_format: dict[str, Any] | None = None
    #: The extension's version in the database, and of the files on the server, if this is PostgreSQL.
    extension: dict[str, str | None] | None = None
    #: `unix`, `loopback` or `tcp`.
    socket: str | None = None
    tls: dict[str, Any] | None = None
    #: Of small statements, in seconds: lowest and median.
    round_trip: dict[str, float] | None = None
    #: Of the last read: bytes on the connection, seconds without one round trip, bytes per second.
    throughput: dict[str, float] | None = None
    #: `message`, `sqlstate` and `hint` of the error that ended the check.
    error: dict[str, str | None] | None = None
    #: The step that did not end within the time limit.
    unfinished: str | None = None
    #: Facts that could not be measured, with the reason.
    remarks: list[str] = field(default_factory=list)

    @property
    def is_usable(self) -> bool:
        """Whether the database can be read."""
        return self.login == "accepted" and self.error is None and self.unfinished is None


def check(uri: str, timeout: float) -> SourceReport:
    """Checks the database that a URI names, for at most `timeout` seconds. Raises nothing for what it finds."""
    facts: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
    thread = threading.Thread(target=_run, args=(uri, facts.put), name="colonnade-doctor", daemon=True)
    thread.start()
    report, step, deadline = SourceReport(), "connecting", time.monotonic() + timeout
    while True:
        try:
            name, value = facts.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            report.unfinished = f"{step} did not end within {timeout:g} s"
            return report
        if name == "end":
            return report
        if name == "step":
            step = value
        elif name == "remark":
            report.remarks.append(value)
        else:
            setattr(report, name, value)


def _run(uri: str, put: Callable[[tuple[str, Any]], None]) -> None:
    try:
        for fact in _facts(uri):
            put(fact)
    except Exception as error:  # a fault of this command is a fact of the report too
        hidden = secrets({"uri": uri})
        put(("error", {name: text and redacted(text, hidden) for name, text in _told(error).items()}))
        source = getattr(error, "source", None)
        if source is not None:
            put(("name", source))
        if (state := getattr(error, "sqlstate", None)) is not None and state.startswith("28"):
            put(("login", "refused"))
        put(("reachable", _accepts(source)))
    put(("end", None))


def _told(error: Exception) -> dict[str, str | None]:
    if isinstance(error, Error):
        return {"message": error.message, "sqlstate": error.sqlstate, "hint": error.hint}
    expected = isinstance(error, (ImportError, OSError, ValueError, TypeError))
    message = str(error) if expected else f"{type(error).__name__}: {error}"
    return {"message": message, "sqlstate": None, "hint": None}


def _facts(uri: str) -> Iterator[tuple[str, Any]]:
    yield "step", "connecting"
    start = time.perf_counter()
    with connect(uri) as connection:
        yield "seconds_to_connect", time.perf_counter() - start
        yield from [("name", connection.name), ("reachable", True), ("login", "accepted")]
        yield "server", connection.server
        source = connection._source
        # Other sources are libraries in this process, without a connection of this package.
        if isinstance(source, Connection):
            yield from _server_facts(source)


def _server_facts(source: Connection) -> Iterator[tuple[str, Any]]:
    if source.stream_format is not None:
        encoder, version = source.stream_format
        yield "stream_format", {"encoder": encoder, "version": version}
    transport = source.transport
    if transport is None:
        return
    kind, tls = transport
    yield "socket", kind
    if tls is not None:
        yield "tls", dict(zip(("version", "cipher", "verified"), tls, strict=True))
    yield "step", "asking for the extension"
    try:
        if (versions := source.extension()) is not None:
            yield "extension", dict(zip(("installed", "available"), versions, strict=True))
    except Error as error:
        yield "remark", f"the extension's version is unknown: {error.message}"
    yield "step", "measuring the round trip"
    round_trip = _round_trip(source)
    yield "round_trip", round_trip
    yield "step", "measuring the throughput"
    try:
        yield "throughput", _throughput(source, round_trip["median"])
    except Error as error:
        yield "remark", f"the throughput is unknown: {error.message}"


def _round_trip(source: Connection) -> dict[str, float]:
    """Times of a statement that costs the server next to nothing. The first one is not counted."""
    source.execute("select 1")
    times = []
    for _ in range(_ROUND_TRIPS):
        start = time.perf_counter()
        source.execute("select 1")
        times.append(time.perf_counter() - start)
    return {"lowest": min(times), "median": statistics.median(times)}


def _throughput(source: Connection, round_trip: float) -> dict[str, float] | None:
    """Reads uncompressed texts, more each time, until one read is long enough; None if the dialect is unknown."""
    query = _TEXTS.get(source.dialect.partition("-")[0])
    if query is None:
        return None
    found = None
    for rows in _ROWS:
        stream = source.query(query.format(rows=rows), compression="plain")
        while stream.next() is not None:
            pass
        stats = stream.stats()
        seconds = max(stats["seconds"] - round_trip, 1e-6)
        found = {"bytes": stats["wire_bytes"], "seconds": seconds, "bytes_per_second": stats["wire_bytes"] / seconds}
        if stats["seconds"] >= _ENOUGH:
            break
    return found


def _accepts(name: str | None) -> bool | None:
    """Whether the address of a source's name accepts connections; None if it is a socket file, or there is none."""
    try:
        address = urlsplit(name or "")
        if not address.hostname or not address.port:
            return None
        socket.create_connection((address.hostname, address.port), _PROBE).close()
    except ValueError:
        return None
    except OSError:
        return False
    return True
