"""The location of a benchmark's database, in the form of each library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Place:
    """The location of a database. A file has a path, all others a host and a port."""

    #: postgres, mariadb, sqlite, duckdb, serve, flight, quack, monetdb, csv or odbc.
    kind: str
    host: str = "127.0.0.1"
    port: int = 0
    path: str = ""
    #: The directory of PostgreSQL's unix socket.
    directory: str = ""
    user: str = ""
    password: str = ""
    database: str = ""
    #: The connection string of an ODBC data source.
    connection: str = ""
    #: The codec of the CSV server.
    codec: str = "none"
    #: `colonnade serve` requires TLS for clients on other machines.
    is_far: bool = False

    @property
    def uri(self) -> str:
        """The URI for colonnade, ConnectorX and ADBC."""
        match self.kind:
            case "postgres":
                return f"postgresql://{self.user}@{self.host}:{self.port}/{self.database}"
            case "mariadb":
                return f"mysql://{self.user}:{self.password}@{self.host}:{self.port}/{self.database}"
            case "serve":
                # This saves the round trip of SSLRequest.
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
        """An ODBC connection string; the drivers are Debian's."""
        address = f"Server={self.host};Port={self.port};Database={self.database};UID={self.user}"
        match self.kind:
            case "postgres":
                # The number of rows for each fetch; without it the driver reads the whole result first.
                fetch = f"UseDeclareFetch=1;Fetch={options.get('fetch', 20_000)};"
                return f"Driver={{PostgreSQL Unicode}};{address};SSLmode=disable;{fetch}"
            case "mariadb":
                # Connector/ODBC's flag for the compressed protocol.
                more = "OPTIONS=2048;" if options.get("compressed") else ""
                return f"Driver={{MariaDB Unicode}};{address};PWD={self.password};{more}"
            case _:
                return self.connection
