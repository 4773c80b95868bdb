"""A private MariaDB or MySQL: its own directory, port and socket, as an ordinary user.

The environment variable COLONNADE_MARIADB names the folder of another MariaDB, or of a MySQL, with `bin`, `sbin` and
`share`; else the installed MariaDB is taken.
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

from tests.testbed.postgres import drop_root, free_port, user

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

#: MySQL's other protocol has a port of its own and listens on all addresses. Debian's folder for files does not exist.
MYSQL_SETTINGS = ("--mysqlx=OFF", "--secure-file-priv=")
#: How a server offers no TLS. MariaDB from 11.4 on and MySQL make a certificate of their own if they are given none.
WITHOUT_TLS = {"mariadb": "--skip-ssl", "mysql": "--auto-generate-certs=OFF"}

#: The tables of MariaDB's sequences that the tests read, for MySQL: first and last number.
SEQUENCES = (
    *((0, last) for last in (99, 999, 200_000, 299_999, 999_999, 2_999_999, 9_999_999)),
    *((1, last) for last in (2, 3, 50, 100, 300, 1000, 4000, 19_999, 20_000, 1_000_000)),
)


def _program(name: str) -> str:
    home = os.environ.get("COLONNADE_MARIADB")
    places = f"{home}/bin:{home}/sbin" if home else f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/bin"
    found = shutil.which(name, path=places)
    if found is None:
        raise RuntimeError(f"{name} is missing: install Debian's mariadb-server, as `make mariadb` does")
    return found


def is_mysql() -> bool:
    """Whether the server is a MySQL. MariaDB's folder has programs of both names."""
    home = os.environ.get("COLONNADE_MARIADB")
    return home is not None and not Path(home, "sbin/mariadbd").exists() and Path(home, "sbin/mysqld").exists()


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
    """A running MariaDB or MySQL."""

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
        """Runs statements as the superuser, by its own client; gives what it prints."""
        # MariaDB's client from 11.4 on refuses a server without TLS, also at the socket.
        client, *without_tls = ["mysql"] if is_mysql() else ["mariadb", "--skip-ssl"]
        command = [_program(client), "--no-defaults", *without_tls, "-u", "root", "-S", str(self.socket), "-N", "-B"]
        command += options
        done = subprocess.run(
            command, input=sql, capture_output=True, text=True, check=False, preexec_fn=drop_root(OWNER)
        )
        if done.returncode != 0:
            raise RuntimeError(f"{client} failed:\n{done.stderr}")
        return done.stdout

    def threads(self) -> list[int]:
        """The connections of the tests' user."""
        answer = self.run(f"select id from information_schema.processlist where user = '{USER}'")
        return [int(line) for line in answer.split()]


@contextmanager
def server(options: Sequence[str] = (), files: Callable[[Path], Sequence[str]] | None = None) -> Iterator[Server]:
    """A new server on a free port of 127.0.0.1 and a unix socket. `files` may put files into its directory, and gives
    the options that name them. Without an option that begins with `--ssl`, the server offers no TLS."""
    account = user(OWNER)
    with tempfile.TemporaryDirectory(prefix="colonnade-my-", dir="/tmp", ignore_cleanup_errors=True) as name:
        directory = Path(name)
        more = [*options, *(files(directory) if files else ())]
        (directory / "tmp").mkdir()
        if account:
            for path in (directory, *directory.iterdir()):
                os.chown(path, account.pw_uid, account.pw_gid)
        data = directory / "data"
        _initialize(directory, data)
        port = free_port()
        command = [
            _program("mysqld" if is_mysql() else "mariadbd"),
            "--no-defaults",
            *_folders(),
            f"--datadir={data}",
            f"--tmpdir={directory / 'tmp'}",
            f"--socket={directory / 'socket'}",
        ]
        command += ["--bind-address=127.0.0.1", f"--port={port}", f"--pid-file={directory / 'pid'}", *SETTINGS]
        command += [*(MYSQL_SETTINGS if is_mysql() else ()), *more]
        if not any(option.startswith("--ssl") for option in more):
            command.append(WITHOUT_TLS["mysql" if is_mysql() else "mariadb"])
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
            if is_mysql():
                # The server then knows the password's hash, and no longer asks for the password itself: without TLS to
                # a verified server, clients would refuse. MySQL's own client sends it over the socket.
                running.run("select 1", f"--user={USER}", f"--password={PASSWORD}")
                running.run(_sequences(), DATABASE)
            yield running
        finally:
            _stop(process)


def _initialize(directory: Path, data: Path) -> None:
    """Makes the system's tables. The superuser has no password, and logs in at the socket."""
    account = user(OWNER)
    owner = account.pw_name if account else pwd.getpwuid(os.getuid()).pw_name
    if is_mysql():
        command = [_program("mysqld"), "--no-defaults", "--initialize-insecure", WITHOUT_TLS["mysql"]]
    else:
        command = [_program("mariadb-install-db"), "--no-defaults", "--auth-root-authentication-method=normal"]
        command += ["--skip-test-db", f"--user={owner}"]
    done = subprocess.run(
        # In a folder of its own: when MySQL starts, it removes the temporary tables of all servers from the folder.
        [*command, f"--datadir={data}", f"--tmpdir={directory / 'tmp'}", *_folders()],
        cwd=directory,
        capture_output=True,
        text=True,
        preexec_fn=drop_root(OWNER),
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} failed:\n{done.stdout}{done.stderr}")


def _sequences() -> str:
    """Statements for MySQL that make what MariaDB's storage engine for sequences has: `seq` from the first number of
    the table's name to the last. They are views of a table with a million numbers, and of some millions of them."""
    digits = range(6)
    number = " + ".join(f"d{place}.d * {10**place}" for place in digits)
    tables = " straight_join ".join(f"digit d{place}" for place in reversed(digits))
    statements = [
        "create table digit (d bigint unsigned primary key) select 0 as d",
        f"insert into digit values {', '.join(f'({digit})' for digit in range(1, 10))}",
        f"create table million (n bigint unsigned primary key) select {number} as n from {tables}",
    ]
    for first, last in SEQUENCES:
        rest = last - first
        seq, source = (f"m.n + {first}", "million m")
        if rest >= 10**6:
            seq, source = (f"d.d * {10**6} + m.n + {first}", "digit d straight_join million m")
        where = f"m.n <= {rest}" if rest < 10**6 else f"d.d <= {rest // 10**6}"
        statements.append(f"create view seq_{first}_to_{last} as select {seq} as seq from {source} where {where}")
    return ";".join(statements)


def _wait(running: Server) -> None:
    reason = None
    for _ in range(TIMEOUT * 10):
        try:
            running.run("select 1")
        except RuntimeError as error:
            reason = error
        else:
            return
        try:
            running.process.wait(0.1)
        except subprocess.TimeoutExpired:
            continue
        break
    raise RuntimeError(f"the server did not start: {reason}\n{(running.directory / 'log').read_text()}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(TIMEOUT)
        raise
