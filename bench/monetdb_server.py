"""A competing system: MonetDB, with its own protocol, MAPI, from the library for embedding.

    python bench/monetdb_server.py DIRECTORY PORT PARQUET…

No package registry has its server. `monetdbe` (PyPI) contains all of it except the program: the engine opens DIRECTORY,
which must be new, and listens on this machine only. The package's extension module is for other versions of Python, but
its libraries work with all: they are searched in `monetdb/monetdbe.libs` of the peers' environment (`make study` puts
them there). The functions that are called are declared in MonetDB's tools/monetdbe/monetdbe.h and
monetdb5/mal/mal_authorize.h, release Jul2021. User and password are `bench`. Each file becomes a table with the file's
name. The server prints its address when it listens.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import signal
import sys
from pathlib import Path

import duckdb

USER = "bench"
LIBRARIES = Path(sys.prefix) / "monetdb/monetdbe.libs"
#: Each library needs those before it, and none contains their paths.
ORDER = ("libstream", "libpcre", "libbat", "libmapi", "libmonetdb5", "libmonetdbsql", "libmonetdbe")
#: DuckDB's types that have another name here.
TYPES = {"VARCHAR": "TEXT"}
#: NULL in a CSV file.
NULL = "(null)"


class MapiServer(ctypes.Structure):
    """`monetdbe_mapi_server`."""

    _fields_ = (("port", ctypes.c_char_p), ("usock", ctypes.c_char_p))


class Options(ctypes.Structure):
    """`monetdbe_options`; zero is the default."""

    _fields_ = (
        ("memorylimit", ctypes.c_int),
        ("querytimeout", ctypes.c_int),
        ("sessiontimeout", ctypes.c_int),
        ("nr_threads", ctypes.c_int),
        ("remote", ctypes.c_void_p),
        ("mapi_server", ctypes.POINTER(MapiServer)),
        ("trace_file", ctypes.c_char_p),
    )


class MonetDB:
    """The engine, which listens."""

    def __init__(self, directory: Path, port: int) -> None:
        loaded: dict[str, ctypes.CDLL] = {}
        for name in ORDER:
            [path] = LIBRARIES.glob(f"{name}-*")
            loaded[name] = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
        library = loaded["libmonetdbe"]
        self._query = library.monetdbe_query
        self._query.restype = ctypes.c_char_p
        self._query.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p)
        self._database = ctypes.c_void_p()
        server = MapiServer(str(port).encode(), None)
        options = Options(mapi_server=ctypes.pointer(server))
        opened = library.monetdbe_open(ctypes.byref(self._database), str(directory).encode(), ctypes.byref(options))
        if opened != 0:
            raise RuntimeError(f"monetdbe_open: {opened}")
        self.let_in(loaded["libmonetdb5"])

    def let_in(self, library: ctypes.CDLL) -> None:
        """Creates the clients' user. The password in the statement has no effect in the embedded engine."""
        self.execute(f"CREATE USER {USER} WITH PASSWORD '{USER}' NAME '{USER}' SCHEMA sys")
        # The first member of a database is its session.
        session = ctypes.cast(self._database, ctypes.POINTER(ctypes.c_void_p))[0]
        password = hashlib.sha512(USER.encode()).hexdigest().encode()
        set_password = library.AUTHsetPassword
        set_password.restype = ctypes.c_char_p
        set_password.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
        if error := set_password(session, USER.encode(), password):
            raise RuntimeError(error.decode())

    def execute(self, statement: str) -> None:
        error: bytes | None = self._query(self._database, statement.encode(), None, None)
        if error:
            raise RuntimeError(error.decode())

    def load(self, file: Path) -> None:
        """Loads a file through CSV."""
        rows = duckdb.read_parquet(str(file))
        columns = [
            f'"{name}" {TYPES.get(str(type_), str(type_))}'
            for name, type_ in zip(rows.columns, rows.types, strict=True)
        ]
        self.execute(f"CREATE TABLE {file.stem} ({', '.join(columns)})")
        csv = file.with_suffix(".monetdb.csv")
        rows.write_csv(str(csv), header=False, na_rep=NULL)
        delimiters = """USING DELIMITERS ',', E'\\n', '"' NO ESCAPE"""
        self.execute(f"COPY INTO {file.stem} FROM '{csv}' {delimiters} NULL AS '{NULL}'")
        csv.unlink()
        self.execute(f"GRANT SELECT ON {file.stem} TO {USER}")


def main() -> None:
    directory, port, *files = sys.argv[1:]
    # The engine writes to standard output, where the address is expected.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    database = MonetDB(Path(directory), int(port))
    for file in files:
        database.load(Path(file))
    print(f"listening on 127.0.0.1:{port}", file=answer, flush=True)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    # Its threads do not end by themselves.
    os._exit(0)


if __name__ == "__main__":
    main()
