"""Where a benchmark's database is, in the words of each library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Place:
    """Where a database is. A file has a path, all else a host and a port."""

    #: postgres, mariadb, sqlite, duckdb, serve, flight, quack, monetdb, csv or odbc.
    kind: str
    host: str = "127.0.0.1"
    port: int = 0
    path: str = ""
    #: Of PostgreSQL's unix socket.
    directory: str = ""
    user: str = ""
    password: str = ""
    database: str = ""
    #: The connection string of an ODBC data source.
    connection: str = ""
    #: By which the server of CSV compresses.
    codec: str = "none"
    #: `colonnade serve` wants TLS of who is not on its machine.
    is_far: bool = False

    @property
    def uri(self) -> str:
        """For colonnade, ConnectorX and ADBC."""
        match self.kind:
            case "postgres":
                return f"postgresql://{self.user}@{self.host}:{self.port}/{self.database}"
            case "mariadb":
                return f"mysql://{self.user}:{self.password}@{self.host}:{self.port}/{self.database}"
            case "serve":
                # A round trip less than to ask for TLS first.
                mode = "require&sslnegotiation=direct" if self.is_far else "disable"
                return f"postgresql://{self.user}:{self.password}@{self.host}:{self.port}/?sslmode={mode}"
            case kind:
                return f"{kind}:{self.path}"

    @property
    def sqlalchemy(self) -> str:
        """With psycopg2 or PyMySQL."""
        drivers = {"postgres": "postgresql+psycopg2", "mariadb": "mysql+pymysql"}
        return f"{drivers[self.kind]}:{self.uri.partition(':')[2]}"

    @property
    def dsn(self) -> str:
        """For libpq."""
        return f"host={self.host} port={self.port} user={self.user} dbname={self.database}"

    def odbc(self, options: dict[str, Any]) -> str:
        """A connection string; the drivers are Debian's."""
        address = f"Server={self.host};Port={self.port};Database={self.database};UID={self.user}"
        match self.kind:
            case "postgres":
                # So many rows at a time; the driver would keep all of them otherwise, before it gives any.
                fetch = f"UseDeclareFetch=1;Fetch={options.get('fetch', 20_000)};"
                return f"Driver={{PostgreSQL Unicode}};{address};SSLmode=disable;{fetch}"
            case "mariadb":
                # Connector/ODBC's flag for the compressed protocol.
                more = "OPTIONS=2048;" if options.get("compressed") else ""
                return f"Driver={{MariaDB Unicode}};{address};PWD={self.password};{more}"
            case _:
                return self.connection
