"""Rival: Arrow Flight over the same DuckDB file.

    python bench/flight_server.py DATABASE BATCH_ROWS LOCATION…

Says `ready` once it answers. A ticket is the query's text.
"""

from __future__ import annotations

import signal
import sys
import threading

import duckdb
import pyarrow.flight as flight


class Server(flight.FlightServerBase):
    """Answers each ticket with a stream of batches straight from DuckDB."""

    def __init__(self, location: str, database: duckdb.DuckDBPyConnection, batch_rows: int) -> None:
        super().__init__(location)
        self.database = database
        self.batch_rows = batch_rows

    def do_get(self, _context: flight.ServerCallContext, ticket: flight.Ticket) -> flight.RecordBatchStream:
        result = self.database.cursor().sql(ticket.ticket.decode())
        return flight.RecordBatchStream(result.to_arrow_reader(self.batch_rows))


def main() -> None:
    path, batch_rows, *locations = sys.argv[1:]
    database = duckdb.connect(path, read_only=True)
    for location in locations:
        server = Server(location, database, int(batch_rows))
        threading.Thread(target=server.serve, daemon=True).start()
    print("ready", flush=True)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})


if __name__ == "__main__":
    main()
