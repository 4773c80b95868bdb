"""The process of `colonnade serve` with the engine. The supervisor starts another one if it dies."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from colonnade._options.sizes import size
from colonnade._secrets import redacted, secrets
from colonnade._sources.uri import client_uri, open_source

from colonnade_serve._core import SourceEngine, Worker

from .functions import begin_local
from .functions import processes as function_processes
from .settings import STACK_BYTES, Database, Settings

if TYPE_CHECKING:
    from colonnade_serve._duckdb.engine import Engine

#: Variables that libraries read when they are loaded. Threads that start before the sandbox would stay outside it. The
#: limit of the process's memory counts addresses, not pages. So DuckDB's allocator returns addresses when it frees
#: memory, and the C library has one arena for each core instead of eight, because arenas hold gigabytes of addresses.
ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "DUCKDB_JE_MALLOC_CONF": "retain:false",
    "MALLOC_ARENA_MAX": str(os.cpu_count() or 1),
}

#: The first bytes of SQLite's files. The client's own test for them starts threads, which the sandbox would leave out.
SQLITE_HEADER = b"SQLite format 3\0"

#: The file in the server's directory that says that a worker has opened the database.
OPENED = "opened"

#: Memory of the process that neither DuckDB nor the sessions count: plans of large statements, the rows of one list,
#: and addresses that the allocators keep for some time.
MEMORY_OVERHEAD = 4 << 30


def main() -> None:
    """Serve until the supervisor ends this process."""
    # A terminal or a service manager sends these to all processes. Only the supervisor acts on them.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    hidden: list[str] = []
    try:
        worker = Worker()
        settings = Settings.from_json(worker.settings)
        # The file's name may be a connection string in the wrong place. A source has its own errors.
        hidden = [] if isinstance(settings.engine, str) else secrets({"path": settings.engine.path or ""})
        served, scratch, options = settings.engine, Path(settings.scratch), settings.options
        spools = options["ticket_directory"]
        if spools is not None:
            Path(spools).mkdir(parents=True, exist_ok=True)
        # The server creates these directories when it needs them. The sandbox includes both.
        options["ticket_directory"] = spools or options["spool_directory"] or str(scratch / "spools")
        if isinstance(served, str):
            engine = SourceEngine(client_uri(served) or (lambda: open_source(served)))
        else:
            engine = duckdb_engine(served, settings, worker, spools)
        status = worker.serve(engine, options)
        if status == 0 and not isinstance(engine, SourceEngine):
            engine.close()
    except Exception as error:
        for text in (str(error).partition("\n")[0], *getattr(error, "__notes__", ())):
            print(f"colonnade: {redacted(text, hidden)}", file=sys.stderr, flush=True)
        status = 1
    # Threads of the engine must not run while the interpreter shuts down.
    os._exit(status)


def duckdb_engine(database: Database, settings: Settings, worker: Worker, spools: str | None) -> Engine:
    """Confines this process, and opens the database. `spools` is a directory of its own for spooled results."""
    try:
        from colonnade_serve._duckdb.engine import Engine, resources
        from colonnade_serve._duckdb.resource_limits import ResourceLimits
    except ModuleNotFoundError as error:
        raise RuntimeError(f"{error.name} is missing: pip install 'colonnade[serve]'") from None
    scratch = Path(settings.scratch)
    must_exist(database, scratch)
    memory, threads = resources(database.memory, database.threads)
    temporary = database.temp_directory
    if temporary is None and database.path is None:
        temporary = str(scratch / "temporary")
    limits = ResourceLimits(
        files=database.allow_files,
        memory=database.memory or memory,
        threads=threads,
        temp_directory=temporary,
        temp_size=database.temp_size,
        max_statement_bytes=database.max_statement_bytes or sys.maxsize,
        max_columns=database.max_columns,
    )
    readable: list[Path] = []
    if database.functions is not None and database.functions.isolation == "none":
        readable = begin_local(database.functions)
    if not database.allow_files:
        if not readable:
            check_only_thread()
        missing = Worker.confine(directories(database.path, scratch, temporary, spools), readable)
        if missing is not None:
            print(f"colonnade: the sandbox is incomplete: {missing}", file=sys.stderr, flush=True)
    functions, function_memory = database.functions, 0
    if functions is not None:
        # A session has a half of it at most, so that one alone cannot take all.
        function_memory = max(2 * functions.memory, size(memory) // 4)
    Worker.limit_memory(int(size(memory) * 1.25) + MEMORY_OVERHEAD + function_memory + threads * STACK_BYTES)
    processes = None if functions is None else function_processes(functions, worker, settings.private, function_memory)
    path = database.path or ":memory:"
    try:
        engine = Engine(path, read_only=database.read_only, limits=limits, scratch=scratch, processes=processes)
    except Exception as error:
        if "set lock on file" in str(error):
            error.add_note(
                "One process at a time may write to a DuckDB file: end the other one, or, if it is `colonnade serve`, "
                "connect to it (postgresql://HOST:PORT). Several may read it: --read-only for all of them"
            )
        raise
    (scratch / OPENED).touch()
    return engine


def check_only_thread() -> None:
    """Refuse to go on if the sandbox would leave threads out. Functions in this process may start some: they have its
    rights."""
    threads = len(list(Path("/proc/self/task").iterdir())) if sys.platform == "linux" else 1
    if threads != 1:
        raise RuntimeError(
            f"{threads} threads run before the sandbox of the engine's process, which would not confine them: start "
            "the server without what starts them in every Python, such as sitecustomize; or it is a defect of colonnade"
        )


def is_sqlite(path: Path) -> bool:
    """Whether a file is an SQLite database. This process has no locks on it that closing it could drop."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(SQLITE_HEADER)) == SQLITE_HEADER


def must_exist(database: Database, scratch: Path) -> None:
    """Refuse a file that does not exist, unless this worker is the first and may create it, and an SQLite database."""
    path = database.path
    if path in (None, ":memory:"):
        return
    if is_sqlite(Path(path)):
        raise RuntimeError(f"{path} is an SQLite database: serve it by --source sqlite:///{path}")
    if Path(path).exists():
        return
    if (scratch / OPENED).exists():
        raise RuntimeError(f"{path} is gone: the server opened it before")
    if database.read_only:
        raise RuntimeError(f"there is no file {path} to read")
    if not database.create:
        raise RuntimeError(f"there is no file {path}: --create makes it")


def directories(database: str | None, scratch: Path, temporary: str | None, spools: str | None) -> list[Path]:
    """The directories to which the process is confined."""
    found = [scratch]
    if database is not None:
        # If the path is a link, DuckDB writes its other files into the link's directory.
        path = Path(database).absolute()
        found += [path.parent, path.resolve().parent]
    if temporary is not None:
        Path(temporary).mkdir(parents=True, exist_ok=True)
        found.append(Path(temporary).resolve())
    if spools is not None:
        found.append(Path(spools).resolve())
    return found
