"""A private MariaDB: its own directory, port and socket, as an ordinary user.

The environment variable COLONNADE_MARIADB names the folder of another MariaDB, with `bin`, `sbin` and `share`; else the
installed one is taken.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from testbed.postgres import drop_root, free_port, user

USER = "tester"
PASSWORD = "s3cret/@:"
#: The same within a URI.
ESCAPED = "s3cret%2F%40%3A"
DATABASE = "shop"
#: Whom the server runs as, if the tests run as root.
OWNER = "mysql"
#: Seconds that a server may take to start or to stop.
TIMEOUT = 60
SETTINGS = ("--skip-log-bin", "--max-allowed-packet=64M", "--innodb-buffer-pool-size=32M", "--performance-schema=OFF")


def _program(name: str) -> str:
    home = os.environ.get("COLONNADE_MARIADB")
    places = f"{home}/bin:{home}/sbin" if home else f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/bin"
    found = shutil.which(name, path=places)
    if found is None:
        raise RuntimeError(f"{name} is missing: install Debian's mariadb-server, as `make mariadb` does")
    return found


def _folders() -> list[str]:
    """The options that lead programs to their other files."""
    home = os.environ.get("COLONNADE_MARIADB")
    if not home:
        return []
    share = f"{home}/share/mysql"
    names = {"basedir": home, "lc-messages-dir": share, "character-sets-dir": f"{share}/charsets"}
    return [f"--{name}={path}" for name, path in (names | {"plugin-dir": f"{home}/lib/mysql/plugin"}).items()]


@dataclass(frozen=True)
class Server:
    """A running MariaDB."""

    directory: Path
    port: int
    process: subprocess.Popen[bytes]

    @property
    def socket(self) -> Path:
        return self.directory / "socket"

    def uri(self, login: str = f"{USER}:{ESCAPED}", **parameters: str) -> str:
        """For colonnade, over TCP."""
        query = "&".join(f"{name}={value}" for name, value in parameters.items())
        return f"mysql://{login}@127.0.0.1:{self.port}/{DATABASE}?{query}".rstrip("?")

    def unix_uri(self, login: str = f"{USER}:{ESCAPED}") -> str:
        """For colonnade, over the unix socket."""
        return f"mysql://{login}@/{DATABASE}?unix_socket={self.socket}"

    def run(self, sql: str, *options: str) -> str:
        """Runs statements as the superuser, by MariaDB's own client; gives what it prints."""
        command = [_program("mariadb"), "--no-defaults", "-u", "root", "-S", str(self.socket), "-N", "-B", *options]
        done = subprocess.run(
            command, input=sql, capture_output=True, text=True, check=False, preexec_fn=drop_root(OWNER)
        )
        if done.returncode != 0:
            raise RuntimeError(f"mariadb failed:\n{done.stderr}")
        return done.stdout

    def threads(self) -> list[int]:
        """The connections of the tests' user."""
        answer = self.run(f"select id from information_schema.processlist where user = '{USER}'")
        return [int(line) for line in answer.split()]


@contextmanager
def server(options: Sequence[str] = (), files: Callable[[Path], Sequence[str]] | None = None) -> Iterator[Server]:
    """A new server on a free port of 127.0.0.1 and a unix socket. `files` may put files into its directory, and gives
    the options that name them."""
    account = user(OWNER)
    with tempfile.TemporaryDirectory(prefix="colonnade-my-", dir="/tmp", ignore_cleanup_errors=True) as name:
        directory = Path(name)
        more = [*options, *(files(directory) if files else ())]
        if account:
            for path in (directory, *directory.iterdir()):
                os.chown(path, account.pw_uid, account.pw_gid)
        data = directory / "data"
        owner = account.pw_name if account else pwd.getpwuid(os.getuid()).pw_name
        install = [
            _program("mariadb-install-db"),
            "--no-defaults",
            f"--datadir={data}",
            "--auth-root-authentication-method=normal",
        ]
        install += ["--skip-test-db", f"--user={owner}", *_folders()]
        done = subprocess.run(
            install, cwd=directory, capture_output=True, text=True, preexec_fn=drop_root(OWNER), check=False
        )
        if done.returncode != 0:
            raise RuntimeError(f"mariadb-install-db failed:\n{done.stdout}{done.stderr}")
        port = free_port()
        command = [
            _program("mariadbd"),
            "--no-defaults",
            *_folders(),
            f"--datadir={data}",
            f"--socket={directory / 'socket'}",
        ]
        command += ["--bind-address=127.0.0.1", f"--port={port}", f"--pid-file={directory / 'pid'}", *SETTINGS, *more]
        with (directory / "log").open("wb") as log:
            process = subprocess.Popen(
                command,
                cwd=directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=drop_root(OWNER),
            )
        running = Server(directory, port, process)
        try:
            _wait(running)
            running.run(
                f"create database {DATABASE} character set utf8mb4; "
                f"create user {USER}@'%' identified by '{PASSWORD}'; grant all on *.* to {USER}@'%'"
            )
            yield running
        finally:
            _stop(process)


def _wait(running: Server) -> None:
    for _ in range(TIMEOUT * 10):
        try:
            running.run("select 1")
        except RuntimeError:
            pass
        else:
            return
        try:
            running.process.wait(0.1)
        except subprocess.TimeoutExpired:
            continue
        break
    raise RuntimeError(f"MariaDB did not start:\n{(running.directory / 'log').read_text()}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(TIMEOUT)
        raise
