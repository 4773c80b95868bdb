"""The options of `colonnade serve`. The keys have the names of the command's options."""

from __future__ import annotations

from os import PathLike
from typing import TypedDict


class Listening(TypedDict):
    """The addresses of a server, and the files that its supervisor reads and writes."""

    listen: str | None
    unix: str | PathLike[str] | None
    users: str | PathLike[str] | None
    tls_certificate: str | PathLike[str] | None
    tls_key: str | PathLike[str] | None
    tls_client_ca: str | PathLike[str] | None
    log: str | PathLike[str] | None
    metrics: str | None


class ServerOptions(TypedDict):
    """The limits of a server's sessions. Times are in seconds, sizes in bytes; 0 means no limit."""

    encode_cpu: float
    max_connections: int
    max_user_connections: int
    max_address_logins: int
    login_timeout: float
    statement_timeout: float
    idle_timeout: float
    idle_transaction_timeout: float
    max_result_bytes: int
    max_session_memory: int
    #: The most bytes of all suspended results in `spool_directory`. If that is None, they stay in the session's memory.
    spool_bytes: int
    spool_directory: str | None
    #: The most bytes of all spooled results, which have tickets, and of those of one user, and how long a ticket lives
    #: after its last use.
    ticket_bytes: int
    user_ticket_bytes: int
    ticket_directory: str | None
    ticket_ttl: float
    log_statements: bool
