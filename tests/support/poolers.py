"""PgBouncer before a server."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import colonnade
import pytest

from tests.testbed import postgres as pg

# Debian keeps it where only root looks.
PGBOUNCER = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
needs_pgbouncer = pytest.mark.skipif(PGBOUNCER is None, reason="pgbouncer is not installed")


@contextmanager
def pooled(target: str, mode: str, **settings: object) -> Iterator[str]:
    """The URI of a pgbouncer before the server at `target`, a host and a port as libpq writes them."""
    with pg.scratch() as directory:
        port = pg.free_port()
        (directory / "users").write_text(f'"{pg.SUPERUSER}" ""\n')
        lines = {
            "listen_addr": "127.0.0.1",
            "listen_port": port,
            "unix_socket_dir": "",
            "auth_type": "trust",
            "auth_file": directory / "users",
            "pool_mode": mode,
            **settings,
        }
        text = "\n".join(f"{name} = {value}" for name, value in lines.items())
        file = directory / "pgbouncer.ini"
        file.write_text(f"[databases]\n* = {target}\n[pgbouncer]\n{text}\n")
        for path in directory.iterdir():
            pg.give(path)
        command = [str(PGBOUNCER), str(file)]
        with (directory / "log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, preexec_fn=pg.drop_root())
        try:
            uri = f"postgresql://{pg.SUPERUSER}@127.0.0.1:{port}/postgres"
            _wait(uri, process, directory / "log")
            yield uri
        finally:
            process.terminate()
            process.wait(pg.TIMEOUT)


def _wait(uri: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(pg.TIMEOUT * 20):
        try:
            colonnade.connect(uri).close()
        except colonnade.OperationalError:
            assert process.poll() is None, log.read_text()
            threading.Event().wait(0.05)
        else:
            return
    raise RuntimeError(f"pgbouncer does not answer:\n{log.read_text()}")
