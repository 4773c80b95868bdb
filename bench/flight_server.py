"""A competing system: Arrow Flight over the same DuckDB file.

    python bench/flight_server.py DATABASE BATCH_ROWS LOCATION [CODEC]

CODEC is one of Arrow IPC's. The server prints its address when it listens. A ticket is the query's text.
"""

from __future__ import annotations

import signal
import sys
import threading

import duckdb
import pyarrow as pa
import pyarrow.flight as flight


class Server(flight.FlightServerBase):
    """Answers each ticket with a stream of batches directly from DuckDB."""

    def __init__(self, location: str, database: duckdb.DuckDBPyConnection, batch_rows: int, codec: str | None) -> None:
        super().__init__(location)
        self.options = pa.ipc.IpcWriteOptions(compression=codec)
        self.database = database
        self.batch_rows = batch_rows

    def do_get(self, _context: flight.ServerCallContext, ticket: flight.Ticket) -> flight.RecordBatchStream:
        result = self.database.cursor().sql(ticket.ticket.decode())
        return flight.RecordBatchStream(result.to_arrow_reader(self.batch_rows), options=self.options)


def main() -> None:
    path, batch_rows, location, *codec = sys.argv[1:]
    server = Server(location, duckdb.connect(path, read_only=True), int(batch_rows), codec[0] if codec else None)
    threading.Thread(target=server.serve, daemon=True).start()
    print(f"listening on 127.0.0.1:{server.port}", flush=True)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})


if __name__ == "__main__":
    main()
