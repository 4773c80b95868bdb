"""Conversations of real servers with each message lost, repeated, exchanged, cut, damaged or next to a strange one.

Always an error or the right rows, in bounded memory and time. Where a protocol has no checksums, a value that was
changed cannot be told from another.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from tests.attacks.talks import WATCHDOG, Client, Turn, changed, own_client, playing, record
from tests.support.proxy import message
from tests.testbed import mariadb
from tests.testbed import postgres as pg
from tests.testbed.serving import Server

#: Bytes of memory for a client that reads some rows, pyarrow included.
ROOM = 400 << 20
#: Between any two messages of PostgreSQL's protocol.
NOTICE = message(b"N", b"SNOTICE\0VNOTICE\0C00000\0Mwell\0\0")
STRANGE = {
    "a notice": NOTICE,
    "a parameter": message(b"S", b"server_version\x00\x1b[2J9\0"),
    "a notification": message(b"A", b"\0\0\0\1channel\0load\0"),
    "an error": message(b"E", b"SERROR\0VERROR\0CXX000\0Mno\0\0"),
    "ready": message(b"Z", b"I"),
    "data": message(b"d", b"junk"),
    "a row": message(b"D", struct.pack(">hi", 1, -1)),
    "a description": message(b"T", struct.pack(">h", 0)),
    "an unknown message": message(b"?", b""),
    "a request for a password": message(b"R", struct.pack(">I", 3)),
}
PACKETS = {
    "an error": b"\x0b\0\0\1\xff\x15\x04#28000no",
    "an end": b"\x07\0\0\1\xfe\0\0\x02\0\0\0",
    "a request for a file": b"\x0c\0\0\1\xfb/etc/passwd",
    "an empty packet": b"\0\0\0\1",
    "a switch of the login": b"\x16\0\0\2\xfemysql_clear_password\0",
}


def messages(said: bytes) -> list[bytes]:
    """PostgreSQL's; the answer to a request for TLS is one by itself."""
    if said in (b"N", b"S"):
        return [said]
    found = []
    while said:
        end = 1 + int.from_bytes(said[1:5], "big")
        found.append(said[:end])
        said = said[end:]
    return found


def packets(said: bytes) -> list[bytes]:
    """MySQL's."""
    found = []
    while said:
        end = 4 + int.from_bytes(said[:3], "little")
        found.append(said[:end])
        said = said[end:]
    return found


@dataclass
class Talk:
    uri: Callable[[int], str]
    sql: str
    turns: list[Turn]
    split: Callable[[bytes], list[bytes]]
    strange: dict[str, bytes]
    #: Whether each byte of the rows is under a checksum.
    sealed: bool

    def variants(self) -> Iterator[tuple[str, list[Turn]]]:
        for number, turn in enumerate(self.turns):
            parts = self.split(turn.said)
            for at, part in enumerate(parts):

                def with_part(*instead: bytes, number: int = number, parts: list[bytes] = parts, at: int = at) -> list:
                    return changed(self.turns, number, b"".join([*parts[:at], *instead, *parts[at + 1 :]]))

                where = f"turn {number}, message {at}, {part[:1]!r}"
                yield f"{where}: lost", with_part()
                yield f"{where}: twice", with_part(part, part)
                if at + 1 < len(parts):
                    swapped = [*parts[:at], parts[at + 1], part, *parts[at + 2 :]]
                    yield f"{where}: behind the next", changed(self.turns, number, b"".join(swapped))
                for cut in {0, 1, 4, 5, len(part) // 2, len(part) - 1}:
                    said = b"".join(parts[:at]) + part[:cut]
                    yield f"{where}: cut at {cut}", changed(self.turns, number, said, over=True)
                for place in sorted({*range(min(6, len(part))), len(part) // 2, len(part) - 1}):
                    damaged = part[:place] + bytes([part[place] ^ 0xFF]) + part[place + 1 :]
                    yield f"{where}: byte {place}", with_part(damaged)
                for name, strange in self.strange.items():
                    yield f"{where}: {name} before", with_part(strange, part)


def postgres_uri(port: int) -> str:
    return f"postgresql://tester@127.0.0.1:{port}/postgres"


@pytest.fixture(params=["served", "stock", "mariadb"])
def talk(request: pytest.FixtureRequest) -> Talk:
    """A short result of each kind of server, recorded."""
    if request.param == "mariadb":
        maria: mariadb.Server = request.getfixturevalue("maria")
        server = ("127.0.0.1", maria.port)
        login = f"{mariadb.USER}:{mariadb.ESCAPED}"

        def uri(port: int) -> str:
            return f"mysql://{login}@127.0.0.1:{port}/{mariadb.DATABASE}"

        sql, split, strange = "select seq as i, 'x' as t from seq_1_to_3", packets, PACKETS
    else:
        uri, split, strange = postgres_uri, messages, STRANGE
        if request.param == "served":
            served: Server = request.getfixturevalue("server")
            assert served.host is not None
            assert served.port is not None
            server, sql = (served.host, served.port), "select i, 'x' as t from range(3) r(i)"
        else:
            stock: pg.Cluster = request.getfixturevalue("stock")
            server, sql = ("127.0.0.1", stock.port), "select i, 'x' as t from generate_series(1, 3) r(i)"
    client = Client()
    try:
        turns = record(server, lambda port: client.read(uri(port), sql))
    finally:
        client.close()
    return Talk(uri, sql, turns, split, strange, sealed=request.param == "served")


client = pytest.fixture(own_client)


def test_a_conversation_that_is_played_back_is_understood(talk: Talk, client: Client) -> None:
    with playing(talk.turns, patience=WATCHDOG) as port:
        answer = client.read(talk.uri(port), talk.sql)
    assert len(answer["rows"]) == 3


@pytest.mark.timeout(900)
def test_whatever_happens_to_a_message(talk: Talk, client: Client) -> None:
    with playing(talk.turns, patience=WATCHDOG) as port:
        expected = client.read(talk.uri(port), talk.sql)["rows"]
    count = 0
    for name, turns in talk.variants():
        with playing(turns) as port:
            answer = client.read(talk.uri(port), talk.sql)
        rows = answer.get("rows")
        if talk.sealed or not name.partition(": ")[2].startswith("byte"):
            assert rows in (None, expected), name
        elif rows is not None:
            assert len(rows) == len(expected), name
        count += 1
    assert count > 200
    assert client.peak < ROOM


def test_what_a_server_may_say_between_any_two_messages_changes_nothing(server: Server, client: Client) -> None:
    assert server.host is not None
    assert server.port is not None
    sql = "select i, 'x' as t from range(3) r(i)"
    turns = record((server.host, server.port), lambda port: client.read(postgres_uri(port), sql))
    with playing(turns, patience=WATCHDOG) as port:
        expected = client.read(postgres_uri(port), sql)["rows"]
    for number, turn in enumerate(turns):
        parts = messages(turn.said)
        if parts == [b"N"]:
            continue
        for at in range(len(parts)):
            said = b"".join([*parts[:at], NOTICE, *parts[at:]])
            with playing(changed(turns, number, said), patience=WATCHDOG) as port:
                assert client.read(postgres_uri(port), sql) == {"rows": expected}, (number, at)
