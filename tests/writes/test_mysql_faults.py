"""Servers and links of MySQL's that fail or lie while rows are written."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import colonnade
import pyarrow as pa
import pytest

from tests.support.raw_client import wait_until
from tests.testbed import mariadb
from tests.writes.mysql_tables import ONE, append, names
from tests.writes.places import Place

BATCH = pa.record_batch({"a": pa.array(range(50_000)), "b": ["some text"] * 50_000})
FILE_REQUEST = 0xFB


class Link:
    """A proxy to a server that can cut its first connection, and change what the server says."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        #: After so many bytes from the server, the next connection ends.
        self.limit: int | None = None
        #: Gives the packet that the client gets for one of the server's.
        self.change: Callable[[bytes], bytes] | None = None
        #: Bytes from the server on the last connection, and everything that clients have sent.
        self.passed = 0
        self.sent = b""
        self._asking: list[threading.Thread] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def uri(self, place: Place) -> str:
        return place.uri.replace(f":{self._port}/", f":{self.port}/")

    def close(self) -> None:
        self._listener.close()

    def wait_until_closed(self) -> None:
        """Waits until all clients have closed their connections, so that nothing more is sent."""
        for asking in self._asking:
            asking.join(60)
            assert not asking.is_alive()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._port))
                limit, self.limit = self.limit, None
                asking = threading.Thread(target=self._ask, args=(client, server), daemon=True)
                self._asking.append(asking)
                asking.start()
                threading.Thread(target=self._answer, args=(client, server, limit), daemon=True).start()

    def _ask(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(65536):
                self.sent += data
                server.sendall(data)
            server.shutdown(socket.SHUT_WR)

    def _answer(self, client: socket.socket, server: socket.socket, limit: int | None) -> None:
        passed, rest = 0, b""
        with suppress(OSError):
            while (limit is None or passed < limit) and (data := server.recv(65536)):
                if self.change is not None:
                    data, rest = self._changed(rest + data)
                data = data if limit is None else data[: limit - passed]
                passed += len(data)
                # A connection that cleans up afterwards does not count.
                self.passed = passed if limit is None else self.passed
                client.sendall(data)
        for connection in (client, server):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    def _changed(self, data: bytes) -> tuple[bytes, bytes]:
        changed = b""
        assert self.change is not None
        while len(data) >= 4 and len(data) >= 4 + (length := int.from_bytes(data[:3], "little")):
            payload = self.change(data[4 : 4 + length])
            changed += struct.pack("<I", len(payload))[:3] + data[3:4] + payload
            data = data[4 + length :]
        return changed, data


@pytest.fixture
def link(maria: mariadb.Server) -> Iterator[Link]:
    opened = Link(maria.port)
    yield opened
    opened.close()


# --- a server that wants files ----------------------------------------------------------------------------------------


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "secret"
    file.write_text("nobody may read this")
    return file


def test_a_request_for_another_file_gets_nothing(in_mariadb: Place, link: Link, secret: Path) -> None:
    in_mariadb.execute("create table t (a bigint)")
    for wanted in (os.fspath(secret), "", "colonnade_0123456789abcdef", "x"):

        def change(payload: bytes, wanted: str = wanted) -> bytes:
            return bytes([FILE_REQUEST]) + wanted.encode() if payload[:1] == bytes([FILE_REQUEST]) else payload

        link.change, link.sent = change, b""
        with pytest.raises(colonnade.InternalError, match="request for the rows"):
            append(pa.table({"a": [1234567]}), link.uri(in_mariadb))
        link.wait_until_closed()
        # Neither the file nor the rows.
        assert b"LOAD DATA LOCAL" in link.sent and b"nobody" not in link.sent
        # After the statement, the session's end is all that is sent, if that.
        assert link.sent.rpartition(b"(`a`)")[2] in (b"", b"\x01\0\0\0\x01")
    assert in_mariadb.rows() == []


@pytest.mark.parametrize("place", ["statement", "ask", "result"])
def test_a_request_at_another_time_gets_nothing(in_mariadb: Place, link: Link, secret: Path, place: str) -> None:
    in_mariadb.execute("create table t (a bigint)")
    request = bytes([FILE_REQUEST]) + os.fspath(secret).encode()
    with colonnade.connect(link.uri(in_mariadb)) as connection:
        seen = list[bytes]()

        def change(payload: bytes) -> bytes:
            seen.append(payload)
            return request if len(seen) == 1 else payload

        link.change, link.sent = change, b""
        with pytest.raises(colonnade.Error):
            if place == "statement":
                connection.execute("insert into t values (1)")
            elif place == "ask":
                # The first answer is that about the session's settings.
                append(ONE, connection)
            else:
                connection.query("select 1 as a").to_arrow()
        assert b"nobody" not in link.sent and len(seen) >= 1


def test_the_whole_file_may_be_refused(in_mariadb: Place, link: Link) -> None:
    """A server that takes the statement for done, without a request, has stored nothing."""
    in_mariadb.execute("create table t (a bigint)")
    done = b"\0\1\0\2\0\0\0"
    link.change = lambda payload: done if payload[:1] == bytes([FILE_REQUEST]) else payload
    with pytest.raises(colonnade.InternalError, match="request for the rows"):
        append(ONE, link.uri(in_mariadb))
    assert in_mariadb.rows() == []


@pytest.mark.parametrize(
    "lie", [b"\0\0\0\2\0\0\0", b"\0\2\0\2\0\0\0", b"\0\1\0\2\0\1\0", b"", b"\0", b"\x01x", b"\xfe"]
)
def test_a_server_that_counts_wrong_stores_nothing(in_mariadb: Place, link: Link, lie: bytes) -> None:
    """The answer to the file has another number of rows, warnings, or is none."""
    in_mariadb.execute("create table t (a bigint)")
    requested = False

    def change(payload: bytes) -> bytes:
        nonlocal requested
        was, requested = requested, payload[:1] == bytes([FILE_REQUEST])
        return lie if was else payload

    link.change = change
    # A warning that SHOW WARNINGS does not have is no error of a value.
    if lie == b"\0\1\0\2\0\1\0":
        append(ONE, link.uri(in_mariadb))
        assert in_mariadb.rows() == [{"a": 1}]
        return
    with pytest.raises(colonnade.Error):
        append(ONE, link.uri(in_mariadb))
    assert in_mariadb.rows() == []


# --- connections and servers that end ---------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["append", "fail", "replace"])
def test_a_connection_that_is_cut_at_any_byte_leaves_nothing(in_mariadb: Place, link: Link, mode: str) -> None:
    """Or all rows, if the answer to the commit is cut: then the error says that nobody knows."""
    table, old = pa.table({"a": range(1000)}), pa.table({"a": [-1]})

    def prepare() -> None:
        in_mariadb.execute("drop table if exists t")
        if mode != "fail":
            colonnade.write_sql(old, in_mariadb.uri, "t")

    def write() -> None:
        colonnade.write_sql(table, link.uri(in_mariadb), "t", if_exists=mode)  # type: ignore[arg-type]

    prepare()
    write()
    length, unknown = link.passed, 0
    # Some bytes, and every one of the last answers that is not only about the session.
    for limit in [*range(1, length - 60, 211), *range(length - 60, length, 3)]:
        prepare()
        link.limit = limit
        before = [] if mode == "fail" else [{"a": -1}]
        after = before + table.to_pylist() if mode == "append" else table.to_pylist()
        try:
            write()
        except colonnade.OperationalError as error:
            # The server may not have noticed the end of the connection yet.
            wait_until(lambda: not any(name.startswith("colonnade_") for name in names(in_mariadb)))
            found = in_mariadb.rows() if in_mariadb.exists() else []
            assert found == before or (found == after and error.sqlstate == "08007"), (limit, error, len(found))
            unknown += error.sqlstate == "08007"
        else:
            assert in_mariadb.rows() == after
    assert mode == "append" or names(in_mariadb) == ["t"]


@pytest.mark.parametrize("mode", ["append", "replace"])
def test_a_killed_session_leaves_nothing(in_mariadb: Place, maria: mariadb.Server, mode: str) -> None:
    colonnade.write_sql(BATCH.slice(0, 1), in_mariadb.uri, "t")
    with colonnade.connect(in_mariadb.uri) as connection:
        number = connection.query("select connection_id() as id").to_arrow()["id"][0].as_py()

        def killing() -> Iterator[pa.RecordBatch]:
            for batch in range(40):
                yield BATCH
                if batch == 5:
                    maria.run(f"kill {number}")

        with pytest.raises(colonnade.OperationalError):
            colonnade.write_sql(killing(), connection, "t", if_exists=mode)  # type: ignore[arg-type]
        assert not connection.is_open
    assert names(in_mariadb) == ["t"] and in_mariadb.table().num_rows == 1


def listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


def test_a_server_that_dies_is_an_error_and_has_nothing() -> None:
    with mariadb.server() as running:
        place = Place(running.uri())
        place.execute("create table t (a bigint, b text)")

        def dying() -> Iterator[pa.RecordBatch]:
            for batch in range(40):
                yield BATCH
                if batch == 5:
                    os.kill(running.process.pid, signal.SIGKILL)
                    running.process.wait()

        with pytest.raises(colonnade.OperationalError):
            append(dying(), running.uri())
        directory, port = running.directory, running.port
        again = subprocess.Popen(
            [part for part in running.process.args if isinstance(part, str)],  # type: ignore[union-attr]
            cwd=directory,
            preexec_fn=mariadb.drop_root(mariadb.OWNER),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_until(lambda: listens(port))
            assert place.rows() == []
        finally:
            again.terminate()
            again.wait(60)


KILLED = """
import os, sys
import colonnade, pyarrow as pa

def batches():
    for _ in range(30):
        yield pa.record_batch({"a": pa.array(range(20_000))})
    os.kill(os.getpid(), 9)

colonnade.write_sql(batches(), sys.argv[1], "t", if_exists=sys.argv[2])
"""


def test_a_killed_client_leaves_the_table_as_it_was(in_mariadb: Place) -> None:
    """In place of a new table, one of another name may be left over."""
    colonnade.write_sql(ONE, in_mariadb.uri, "t")
    for mode in ("truncate", "replace"):
        done = subprocess.run([sys.executable, "-c", KILLED, in_mariadb.uri, mode], check=False)
        # Windows gives the number itself.
        assert abs(done.returncode) == signal.SIGKILL
        assert in_mariadb.rows() == [{"a": 1}]
    left = [name for name in names(in_mariadb) if name != "t"]
    assert len(left) <= 1 and all(name.startswith("colonnade_") for name in left)


@contextmanager
def holding(place: Place) -> Iterator[None]:
    """A session that has read the table, and so locks it against RENAME."""
    with colonnade.connect(place.uri) as other:
        other.execute("begin")
        other.query("select * from t").to_arrow()
        yield
        other.execute("commit")


def test_ctrl_c_leaves_a_lock(in_mariadb: Place) -> None:
    colonnade.write_sql(ONE, in_mariadb.uri, "t")
    with holding(in_mariadb), colonnade.connect(in_mariadb.uri) as connection:
        timer = threading.Timer(1, os.kill, [os.getpid(), signal.SIGINT])
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            colonnade.write_sql(pa.table({"a": [2]}), connection, "t", if_exists="replace")
        timer.join()
        assert connection.query("select 1 as one").to_arrow().to_pylist() == [{"one": 1}]
    assert names(in_mariadb) == ["t"] and in_mariadb.rows() == [{"a": 1}]
