"""The process of `colonnade serve` that holds the engine. Its supervisor starts another one when it dies."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from colonnade._core import SourceEngine, Worker
from colonnade._sources.uri import open_source

from .settings import STACK, Database, Settings, size

if TYPE_CHECKING:
    from colonnade._duckdb.engine import Engine

#: Settings of its libraries, which they read when they are loaded. Threads that start before the sandbox would stay
#: outside of it. The limit of the process's memory counts addresses, not pages. So DuckDB's allocator returns addresses
#: when it frees memory, and the C library has one arena for each core instead of eight, which hold unused gigabytes.
ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "DUCKDB_JE_MALLOC_CONF": "retain:false",
    "MALLOC_ARENA_MAX": str(os.cpu_count() or 1),
}

#: Memory of the process beside what DuckDB counts and what sessions add: plans of large statements, the rows of one
#: list, and the addresses that the allocators keep for a while.
OVERHEAD = 4 << 30


def main() -> None:
    """Serve until the supervisor has no more clients, and exit."""
    # A terminal and a service manager send these to all processes; the supervisor decides what follows.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    try:
        worker = Worker()
        settings = Settings.from_json(worker.settings)
        served, scratch = settings.engine, Path(settings.scratch)
        engine = source_engine(served) if isinstance(served, str) else duckdb_engine(served, scratch)
        status = worker.serve(engine, settings.options)
        if status == 0 and not isinstance(engine, SourceEngine):
            engine.close()
    except Exception as error:
        print(f"colonnade: {str(error).partition(chr(10))[0]}", file=sys.stderr, flush=True)
        status = 1
    # Threads of the engine's must not meet a closing interpreter.
    os._exit(status)


def source_engine(uri: str) -> SourceEngine:
    """The database in front of which the server stands; it is connected to once, to see whether that works."""
    return SourceEngine(lambda: open_source(uri, gateway=True))


def duckdb_engine(database: Database, scratch: Path) -> Engine:
    """The database, opened by a process that can reach little else."""
    try:
        from colonnade._duckdb.engine import Engine, resources
        from colonnade._duckdb.fences import Fences
    except ModuleNotFoundError as error:
        raise RuntimeError(f"{error.name} is missing: pip install 'colonnade[serve]'") from None
    must_exist(database, scratch)
    memory, threads = resources(database.memory, database.threads)
    temporary = database.temp_directory
    if temporary is None and database.path is None:
        temporary = str(scratch / "temporary")
    fences = Fences(
        files=database.allow_files,
        memory=database.memory or memory,
        threads=threads,
        temp_directory=temporary,
        temp_size=database.temp_size,
        max_statement_bytes=database.max_statement_bytes or sys.maxsize,
    )
    if not database.allow_files:
        missing = Worker.confine(directories(database.path, scratch, temporary))
        if missing is not None:
            print(f"colonnade: not all of the sandbox is there: {missing}", file=sys.stderr, flush=True)
    Worker.limit_memory(int(size(memory) * 1.25) + OVERHEAD + threads * STACK)
    return Engine(database.path or ":memory:", read_only=database.read_only, fences=fences, scratch=scratch)


def must_exist(database: Database, scratch: Path) -> None:
    """Refuse a file that is not there, unless this server is to make it and no worker has done so."""
    path = database.path
    if path in (None, ":memory:") or Path(path).exists():
        return
    if (scratch / "catalog.duckdb").exists():
        raise RuntimeError(f"{path} is gone: the server opened it before")
    if database.read_only:
        raise RuntimeError(f"there is no file {path} to read")
    if not database.create:
        raise RuntimeError(f"there is no file {path}: --create makes it")


def directories(database: str | None, scratch: Path, temporary: str | None) -> list[Path]:
    """All that the process may reach from now on."""
    found = [scratch]
    if database is not None:
        # A link's own directory is where DuckDB puts what stands beside the database.
        path = Path(database).absolute()
        found += [path.parent, path.resolve().parent]
    if temporary is not None:
        Path(temporary).mkdir(parents=True, exist_ok=True)
        found.append(Path(temporary).resolve())
    return found
