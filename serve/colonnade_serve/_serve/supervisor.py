"""The process of `colonnade serve` that listens, and starts the worker with the engine."""

from __future__ import annotations

import resource
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from colonnade_serve._core import Supervisor

from .catalog_cache import provide_catalog
from .functions import template
from .interpreter import command
from .private import Boundary, private_paths
from .settings import STACK_BYTES, Settings
from .worker import ENVIRONMENT

if TYPE_CHECKING:
    from colonnade_serve._serve.options import Listening, ServerOptions

    from .settings import Database

SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
WORKER = "from colonnade_serve._serve.worker import main; main()"


def serve(engine: Database | str, listening: Listening, options: ServerOptions, *, grace: float, verbose: bool) -> int:
    """Serve until SIGINT or SIGTERM. Returns the exit status. After SIGTERM, clients have `grace` seconds to finish."""
    # They are blocked before any thread starts, so that only sigwait receives them.
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    # Each client needs a descriptor, and a shell's default limit is low.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    allow_deep_stacks()
    scratch = tempfile.mkdtemp(prefix="colonnade-")
    try:
        private = [] if isinstance(engine, str) else private_paths(engine, listening, options, scratch)
        supervisor, boundary = start(listening, Settings(engine, options, scratch, private), verbose=verbose)
        if wait_for_signal(supervisor, boundary) == signal.SIGTERM:
            drain(supervisor, grace)
        return 0 if supervisor.stop() else 1
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def allow_deep_stacks() -> None:
    """Give the worker's threads larger stacks. A stack takes memory only where it is used."""
    _, most = resource.getrlimit(resource.RLIMIT_STACK)
    stack = STACK_BYTES if most == resource.RLIM_INFINITY else min(STACK_BYTES, most)
    resource.setrlimit(resource.RLIMIT_STACK, (stack, most))


def start(listening: Listening, settings: Settings, *, verbose: bool) -> tuple[Supervisor, Boundary | None]:
    """Listen and start the worker. Returns also what functions in a sandbox may read."""
    functions = None if isinstance(settings.engine, str) else settings.engine.functions
    program, boundary = None, None
    if functions is not None and functions.isolation != "none":
        program, readable = template(functions)
        if functions.isolation == "sandbox":
            boundary = Boundary([*readable, *functions.read], settings.private)
            try:
                boundary.check()
            except ValueError as error:
                raise SystemExit(f"colonnade: {error}") from None
    if not isinstance(settings.engine, str):
        provide_catalog(Path(settings.scratch), files=settings.engine.allow_files)
    try:
        supervisor = Supervisor(listening, command(WORKER), list(ENVIRONMENT.items()), settings.to_json(), program)
    except Exception as error:
        if verbose:
            raise
        # If the worker did not start, it has printed the reason.
        raise SystemExit(f"colonnade: {first_line(error)}" if str(error) else 1) from None
    show_warnings(supervisor)
    for address in supervisor.addresses:
        print(f"listening on {address}", flush=True)
    if supervisor.metrics is not None:
        print(f"metrics on http://{supervisor.metrics}/metrics", flush=True)
    return supervisor, boundary


def show_warnings(supervisor: Supervisor) -> None:
    """Tells the operator what will keep clients from connecting."""
    for warning in supervisor.warnings:
        print(f"colonnade: {warning}", file=sys.stderr, flush=True)


def wait_for_signal(supervisor: Supervisor, boundary: Boundary | None) -> int:
    """Returns the signal that ends the server. After SIGHUP, users and certificates are read again, and the log is
    opened again, unless functions could read them."""
    while (received := signal.sigwait(SIGNALS)) == signal.SIGHUP:
        try:
            if boundary is not None:
                boundary.check()
            supervisor.reload()
            show_warnings(supervisor)
        except (OSError, ValueError) as error:
            print(f"colonnade: the old users and certificates stay: {first_line(error)}", file=sys.stderr, flush=True)
    return received


def drain(supervisor: Supervisor, grace: float) -> None:
    """Wait for running statements and transactions, until the grace period ends or a second signal comes."""
    end = time.monotonic() + grace
    while not supervisor.drain(0.1) and time.monotonic() < end:
        if signal.sigtimedwait(SIGNALS - {signal.SIGHUP}, 0) is not None:
            return


def first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
