"""What spec/PROTOCOL.md says is what a server does."""

from __future__ import annotations

import re
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import colonnade
import psycopg
import pytest

from tests.support.proxy import WELCOME, message, peer
from tests.testbed.serving import Server

PROTOCOL = (Path(__file__).parents[2] / "spec" / "PROTOCOL.md").read_text()
KINDS = {"schema": 1, "chunk": 2, "end": 3}


def table(section: str) -> list[list[str]]:
    """The cells of the first table in a section."""
    _, _, text = PROTOCOL.partition(f"\n## {section}")
    _, bar, first = text.partition("\n## ")[0].partition("\n|")
    rows = (bar[1:] + first).partition("\n\n")[0].splitlines()
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows[2:]]


def bytes_of(cell: str) -> bytes:
    """`48 00000009` `text` as bytes: hexadecimal digits are bytes, other quoted parts are text."""
    parts = re.findall(r"`([^`]*)`", cell)
    return b"".join(bytes.fromhex(p) if re.fullmatch(r"[0-9A-F ]+", p) else p.encode() for p in parts)


class Wire:
    """A conversation in PostgreSQL's protocol, by hand."""

    def __init__(self, server: Server) -> None:
        self._socket = socket.create_connection((server.host, server.port), timeout=60)
        body = struct.pack(">I", 3 << 16) + b"user\0tester\0\0"
        self.send(struct.pack(">I", len(body) + 4) + body)

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def messages(self) -> Iterator[tuple[bytes, bytes]]:
        """Type and body of each message, up to ReadyForQuery."""
        kind = b""
        while kind != b"Z":
            kind = self._read(1)
            yield kind, self._read(struct.unpack(">I", self._read(4))[0] - 4)

    def close(self) -> None:
        self._socket.close()

    def _read(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = self._socket.recv(count - len(data))
            assert part, "the server hung up"
            data += part
        return data


@pytest.fixture
def wire(server: Server) -> Iterator[Wire]:
    conversation = Wire(server)
    yield conversation
    conversation.close()


def test_the_announcement_comes_with_the_login(wire: Wire) -> None:
    login = list(wire.messages())
    assert (b"S", b"colonnade\x001\0") in login
    assert login.index((b"R", struct.pack(">I", 0))) < login.index((b"S", b"colonnade\x001\0"))


def test_the_example(wire: Wire) -> None:
    list(wire.messages())
    (_, name, query), *answer = table("9. An example")
    assert name == "Query"
    assert struct.unpack(">I", bytes_of(query)[1:5])[0] == len(bytes_of(query)) - 1
    wire.send(bytes_of(query))
    said = list(wire.messages())
    assert len(said) == len(answer)
    for (kind, body), (sender, name, cell) in zip(said, answer, strict=True):
        assert sender == "server"
        if name == "CopyData":
            assert kind == b"d" == bytes_of(cell)[:1]
            assert body[:4] == b"CLN1"
            assert body[4] == KINDS[re.search(r"an? (\w+) message", cell)[1]]
        elif name == "ParameterStatus":
            # How rows are taken depends on the tables that other tests have made.
            assert message(kind, body) in (bytes_of(cell), message(b"S", b"colonnade.rows\0vectors\0"))
        else:
            assert message(kind, body) == bytes_of(cell)


def test_the_announcement_of_the_other_direction(wire: Wire) -> None:
    assert (b"S", b"colonnade.receive\x001\0") in list(wire.messages())


def test_the_example_of_the_other_direction(server: Server, wire: Wire) -> None:
    """Section 10's messages, with the stream of the vector that it names, one message in each CopyData."""
    text = (Path(__file__).parents[2] / "spec" / "vectors" / "good" / "copy_in.hex").read_text()
    stream = bytes.fromhex("".join(line.partition("#")[0] for line in text.splitlines()))
    _, _, section = PROTOCOL.partition("\n## 10. ")
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in section.splitlines() if "` " in line]
    rows = [row for row in rows if row[0] in ("client", "server")]
    assert [name for _, name, _ in rows] == [
        *("Query", "CopyInResponse", "CopyData", "CopyData", "CopyData"),
        *("CopyDone", "CommandComplete", "ReadyForQuery"),
    ]
    (_, _, query), *others = rows
    list(wire.messages())
    with psycopg.connect(server.dsn, autocommit=True) as session:
        session.execute("create or replace table t (n bigint)")
        wire.send(bytes_of(query))
        for sender, name, cell in others:
            if sender == "client" and name == "CopyData":
                length = int.from_bytes(stream[8:16], "little")
                assert stream.hex(" ").upper().startswith(re.search(r"(43 [0-9A-F ]+) …", cell)[1])
                wire.send(message(b"d", stream[:length]))
                stream = stream[length:]
            elif sender == "client":
                wire.send(bytes_of(cell))
            elif name == "CopyInResponse":
                assert next(iter(wire.messages())) == (b"G", bytes_of(cell)[5:])
        assert [message(*said) for said in wire.messages()] == [bytes_of(cell) for _, _, cell in others[-2:]]
        assert not stream and session.execute("select n from t").fetchall() == [(7,)]
        session.execute("drop table t")


def refused(server: Server, options: str) -> psycopg.Error:
    with psycopg.connect(server.dsn) as connection, pytest.raises(psycopg.Error) as caught:
        connection.execute(f"copy (select 1) to stdout (format colonnade, {options})")
    return caught.value


@pytest.mark.parametrize(("option", "values", "default"), [row[:3] for row in table("2. The request")])
def test_each_option_takes_its_default_and_refuses_nonsense(
    server: Server, option: str, values: str, default: str
) -> None:
    option, default = option.strip("`"), default.strip("`")
    if default == "all of the version":
        names = {
            "encodings": "plain,constant,packed,delta,dictionary,lengths,alp,fsst,split",
            "codecs": "none,lz4,zstd",
        }
        default = f"'{names[option]},unknown'"
    else:
        error = refused(server, f"{option} 'nonsense'")
        assert error.sqlstate == "22023"
        assert option in str(error)
    with psycopg.connect(server.dsn) as connection, connection.cursor() as cursor:
        sql = f"copy (select 1) to stdout with (format colonnade, {option.upper()} {default})"
        with cursor.copy(sql) as copy:
            assert [bytes(data)[4] for data in copy] == [1, 2, 3]


def test_unknown_options_and_versions_are_named(server: Server) -> None:
    error = refused(server, "colour 'red'")
    assert (error.sqlstate, "colour" in str(error)) == ("22023", True)
    error = refused(server, "version 2")
    assert (error.sqlstate, "version 2" in str(error)) == ("22023", True)
    assert refused(server, "chunk_rows 5, chunk_rows 6").sqlstate == "42601"


@pytest.mark.parametrize("codec", ["lz4", "zstd-1"])
def test_a_server_uses_nothing_that_the_client_did_not_name(server: Server, codec: str) -> None:
    sql = "select 'text ' || i % 10 as t, i from range(10000) r(i)"
    with psycopg.connect(server.dsn) as connection, connection.cursor() as cursor:
        options = f"format colonnade, compression 'light+{codec}', codecs 'none', encodings 'plain'"
        with cursor.copy(f"copy ({sql}) to stdout ({options})") as copy:
            chunks = [bytes(data) for data in copy if bytes(data)[4] == KINDS["chunk"]]
    assert chunks
    assert {chunk[5] for chunk in chunks} == {0}
    # Plain: the numbers as they are.
    assert struct.pack("<3q", 7, 8, 9) in b"".join(chunks)


def test_what_a_server_answers_that_does_not_know_the_format() -> None:
    error = message(b"E", b'SERROR\0C22023\0MCOPY format "colonnade" not recognized\0\0') + message(b"Z", b"I")
    with peer(WELCOME, error, hang_up=False) as uri, colonnade.connect(uri) as connection:
        with pytest.raises(colonnade.DataError, match='"colonnade" not recognized') as caught:
            connection.query("select 1")
        assert caught.value.sqlstate == "22023"
        assert connection.is_open
