"""One session's excess ends its statement or itself by a named limit, and other sessions go on meanwhile."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psycopg
import pyarrow as pa
import pytest
from psycopg import errors

from tests.support.raw_client import hand_shake, wait_until
from tests.support.raw_login import RawClient
from tests.testbed.serving import TIMEOUT, Server, serve

MEMORY = 20 << 20
#: What the server may grow in addition to what the session is charged: copies while it works on a message, and the
#: engine's.
MARGIN = 400 << 20


@pytest.fixture(scope="module")
def bounded() -> Iterator[Server]:
    with serve("--max-session-memory", str(MEMORY)) as server:
        yield server


@contextmanager
def others_go_on(server: Server) -> Iterator[None]:
    """Another session runs statements all the while, and not one of them fails."""
    done, failures, count = threading.Event(), [], 0

    def run() -> None:
        nonlocal count
        try:
            with psycopg.connect(server.dsn, autocommit=True) as other:
                while not done.is_set() or count == 0:
                    assert other.execute("select 1").fetchone() == (1,)
                    count += 1
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(TIMEOUT)
    assert not thread.is_alive() and not failures and count > 0, failures


@contextmanager
def raw(server: Server) -> Iterator[RawClient]:
    with RawClient(server.host, server.port) as client:
        client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.start("tester")
        client.expect(b"Z")
        yield client


def until_refused(client: RawClient, send: Callable[[int], None], most: int) -> tuple[int, bytes]:
    """Send more and more; how much was taken, and the error that ended it: a statement, or the session where already
    the message did not fit."""
    for number in range(most):
        try:
            send(number)
            client.send(b"S", b"")
            answers = until_ready(client)
        except EOFError as end:
            answers = end.args[0]
        refused = [body for kind, body in answers if kind == b"E"]
        if refused:
            return number, refused[0]
    raise AssertionError(f"{most} were taken")


def until_ready(client: RawClient) -> list[tuple[bytes, bytes]]:
    found = []
    while (message := client.message()) is not None:
        found.append(message)
        if message[0] == b"Z":
            return found
    raise EOFError(found)


def query(client: RawClient, sql: str) -> list[tuple[bytes, bytes]]:
    client.send(b"Q", sql.encode() + b"\0")
    return until_ready(client)


def parse(client: RawClient, name: str, sql: str) -> None:
    client.send(b"P", name.encode() + b"\0" + sql.encode() + b"\0\0\0")


def bind(client: RawClient, portal: str, statement: str, *values: bytes) -> None:
    sized = b"".join(struct.pack("!I", len(value)) + value for value in values)
    names = portal.encode() + b"\0" + statement.encode() + b"\0"
    client.send(b"B", names + struct.pack("!HH", 0, len(values)) + sized + struct.pack("!H", 0))


def is_named(error: bytes) -> bool:
    return b"C53200\0" in error and b"--max-session-memory" in error


def test_prepared_statements_are_charged_until_they_are_closed(bounded: Server) -> None:
    text = "select 1 /*" + "x" * (4 << 20) + "*/ + 1"
    with others_go_on(bounded):
        with raw(bounded) as client:
            taken, error = until_refused(client, lambda number: parse(client, f"s{number}", text), 10)
            assert is_named(error) and 2 <= taken <= 5
        with raw(bounded) as client:
            for _ in range(10):
                parse(client, "s", text)
                client.send(b"C", b"Ss\0")
                client.send(b"S", b"")
                assert b"E" not in [kind for kind, _ in until_ready(client)]


def test_a_statement_that_portals_hold_is_charged_though_it_is_closed(bounded: Server) -> None:
    text = "select 1 /*" + "x" * (2 << 20) + "*/ + 1"

    def hold(client: RawClient, portal: str) -> None:
        parse(client, "s", text)
        bind(client, portal, "s")
        client.send(b"C", b"Ss\0")

    with others_go_on(bounded):
        with raw(bounded) as client:
            query(client, "begin")
            taken, error = until_refused(client, lambda number: hold(client, f"p{number}"), 20)
            # 20 MiB for the session, 2 MiB for each statement.
            assert is_named(error) and taken <= 9
        with raw(bounded) as client:
            for _ in range(10):
                query(client, "begin")
                hold(client, "p")
                client.send(b"S", b"")
                assert b"E" not in [kind for kind, _ in until_ready(client)]
                query(client, "rollback")


def test_values_are_charged(bounded: Server) -> None:
    with others_go_on(bounded), raw(bounded) as client:
        query(client, "begin")
        parse(client, "s", "select $1::text")
        value = b"x" * (3 << 20)
        taken, error = until_refused(client, lambda number: bind(client, f"p{number}", "s", value), 20)
        assert is_named(error) and 1 <= taken <= 6


def test_many_small_portals_and_statements_are_charged(bounded: Server) -> None:
    with others_go_on(bounded), raw(bounded) as client:
        query(client, "begin")
        parse(client, "s", "select 1")
        name = "p" * 9_000
        _, error = until_refused(client, lambda number: bind(client, f"{name}{number}", "s"), 4000)
        assert is_named(error)


@pytest.mark.parametrize("item", [b"1,", b"{},", b"NULL,", b'"",'])
def test_a_list_takes_what_its_items_take_and_not_what_its_text_does(bounded: Server, item: bytes) -> None:
    with others_go_on(bounded), raw(bounded) as client:
        before = bounded.memory("VmHWM")
        parse(client, "s", "select len($1::varchar[])")
        client.send(b"S", b"")
        until_ready(client)
        value = b"{" + item * (6 << 20 >> 2)
        _, error = until_refused(client, lambda _: bind(client, "", "s", value[:-1] + b"}"), 1)
        assert is_named(error)
        assert bounded.memory("VmHWM") - before < MARGIN


def test_numbers_of_few_bytes_and_many_digits_are_charged(bounded: Server) -> None:
    with others_go_on(bounded), raw(bounded) as client:
        before = bounded.memory("VmHWM")
        count = 5_000
        parse(client, "s", f"select 1 in ({', '.join(f'${number + 1}::numeric' for number in range(count))})")
        client.send(b"S", b"")
        until_ready(client)
        zeros = struct.pack("!hhHhh", 1, 16_000, 0, 0, 1)
        values = (struct.pack("!I", len(zeros)) + zeros) * count
        message = b"\0s\0" + struct.pack("!HHH", 1, 1, count) + values + struct.pack("!H", 0)
        _, error = until_refused(client, lambda _: client.send(b"B", message), 1)
        # Or at once, since no DECIMAL has as many.
        assert is_named(error) or b"C22003\0" in error
        assert bounded.memory("VmHWM") - before < MARGIN


@pytest.mark.parametrize("statement", ["set application_name = '{}'", 'savepoint "{}"'])
def test_settings_and_savepoints_of_a_transaction_are_charged(bounded: Server, statement: str) -> None:
    def send(number: int) -> None:
        client.send(b"Q", statement.format(f"{number}" + "x" * (1 << 20)).encode() + b"\0")
        answers = until_ready(client)
        if b"E" in [kind for kind, _ in answers]:
            raise EOFError(answers)

    with others_go_on(bounded), raw(bounded) as client:
        query(client, "begin")
        _, error = until_refused(client, send, 20)
        assert is_named(error)


@pytest.mark.parametrize("format_", ["text", "csv", "binary", "arrow"])
def test_a_row_or_message_of_a_copy_is_not_gathered_without_end(bounded: Server, format_: str) -> None:
    beginning = {
        "text": b"x",
        "csv": b'"x',
        "binary": b"PGCOPY\n\xff\r\n\0" + b"\0" * 8 + b"\0\x01" + struct.pack("!I", 200 << 20),
        "arrow": b"\xff\xff\xff\xff" + struct.pack("<I", 60 << 20),
    }
    with psycopg.connect(bounded.dsn, autocommit=True) as client, others_go_on(bounded):
        client.execute("create or replace temp table gathered (t varchar)")
        refused = pytest.raises(errors.OutOfMemory, match="--max-session-memory")
        with refused, client.cursor().copy(f"copy gathered from stdin (format {format_})") as copy:
            copy.write(beginning[format_])
            for _ in range(100):
                copy.write(b"x" * (1 << 20))
        assert client.execute("select count(*) from gathered").fetchone() == (0,)


def test_dictionaries_that_a_copy_adds_to_are_charged(bounded: Server) -> None:
    def dictionary(word: str) -> pa.RecordBatch:
        words = pa.array([word, word * 2])
        return pa.record_batch([pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), words)], names=["t"])

    with psycopg.connect(bounded.dsn, autocommit=True) as client, others_go_on(bounded):
        client.execute("create or replace temp table words (t varchar)")
        options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
        sink = pa.BufferOutputStream()
        words: list[str] = []
        with pa.ipc.new_stream(sink, dictionary("a").schema, options=options) as writer:
            for number in range(60):
                words.append(f"{number}" + "x" * (1 << 20))
                array = pa.DictionaryArray.from_arrays(pa.array([number], pa.int32()), pa.array(words))
                writer.write_batch(pa.record_batch([array], names=["t"]))
        refused = pytest.raises(errors.OutOfMemory, match="--max-session-memory")
        with refused, client.cursor().copy("copy words from stdin (format arrow)") as copy:
            copy.write(sink.getvalue().to_pybytes())


def streams() -> Iterator[bytes]:
    """An Arrow stream with each of its numbers made wrong."""
    table = pa.table({"i": pa.array([1, None, 3]), "t": pa.array(["a", "b", None])})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    whole = sink.getvalue().to_pybytes()
    for at in range(0, len(whole) - 8, 4):
        for number in (b"\xff\xff\xff\x7f", b"\xff\xff\xff\xff", b"\0\0\0\x80", b"\x40\0\0\0"):
            yield whole[:at] + number + whole[at + 4 :]


def test_a_hostile_arrow_stream_is_an_error_and_the_session_goes_on(bounded: Server) -> None:
    with psycopg.connect(bounded.dsn, autocommit=True) as client, others_go_on(bounded):
        client.execute("create or replace temp table hostile (i bigint, t varchar)")
        codes = set()
        for stream in streams():
            try:
                with client.cursor().copy("copy hostile from stdin (format arrow)") as copy:
                    copy.write(stream)
            except psycopg.Error as error:
                codes.add(error.sqlstate)
        assert "22P04" in codes and codes <= {"22P04", "53200", "22021", "22P02", "22003", "42804", "0A000", "22023"}
        assert client.execute("select 1").fetchone() == (1,)


def test_results_are_set_aside_within_one_space_and_in_its_directory(tmp_path: Path) -> None:
    rows = "select i, repeat('x', 100) from range(100_000) r(i)"  # some 12 MB
    options = ["--temp-directory", tmp_path / "spill", "--temp-size", "30MB"]
    with ExitStack() as stack:
        server = stack.enter_context(serve(tmp_path / "a.duckdb", "--create", *options))
        one, two = (stack.enter_context(psycopg.connect(server.dsn)) for _ in range(2))
        stack.enter_context(others_go_on(server))
        assert set_aside(one, rows, 2) == 2
        with pytest.raises(errors.ConfigurationLimitExceeded, match="--temp-size"):
            set_aside(two, rows, 2)
        # Other such files are in memory.
        unlinked = [path for path in files(server) if path.endswith(" (deleted)") and "memfd:" not in path]
        assert unlinked and all(path.startswith(str(tmp_path / "spill")) for path in unlinked)
        one.rollback()
        two.rollback()
        assert set_aside(two, rows, 2) == 2


def files(server: Server) -> list[str]:
    """What the server has open."""
    found = []
    for entry in Path(f"/proc/{server.worker}/fd").iterdir():
        with suppress(FileNotFoundError):
            found.append(str(entry.readlink()))
    return found


def set_aside(client: psycopg.Connection, rows: str, count: int) -> int:
    """Begin to read so many results at a time."""
    for number in range(count):
        client.execute(f"declare c{number} cursor for {rows}")
        client.execute(f"fetch 1 from c{number}")
    client.execute("select 1")
    return count


def test_without_a_directory_results_are_set_aside_in_the_sessions_memory(bounded: Server) -> None:
    with psycopg.connect(bounded.dsn) as client, others_go_on(bounded):
        with pytest.raises(errors.OutOfMemory, match="--max-session-memory"):
            set_aside(client, "select i, repeat('x', 100) from range(500_000) r(i)", 2)
        client.rollback()
        assert set_aside(client, "select i from range(100_000) r(i)", 3) == 3


def test_open_files_are_charged(bounded: Server) -> None:
    refused = pytest.raises(errors.OutOfMemory, match="--max-session-memory")
    with psycopg.connect(bounded.dsn) as client, others_go_on(bounded), refused:
        set_aside(client, "select i from range(10_000) r(i)", 200)


def test_answers_are_not_gathered_for_a_client_that_does_not_read(bounded: Server) -> None:
    with others_go_on(bounded), hand_shake(bounded, small_buffer=True) as client:
        before = bounded.memory("VmHWM")
        body = b"end;" * (1 << 20) + b"\0"
        client.sendall(b"Q" + struct.pack("!I", len(body) + 4) + body)
        # It is read as far as the sockets hold, and then not at all.
        wait_until(lambda: client.recv(1, socket.MSG_PEEK) != b"")
        assert bounded.memory("VmHWM") - before < MARGIN


def test_a_message_has_a_length() -> None:
    with serve() as server, others_go_on(server):
        for kind in (b"Q", b"P", b"B", b"d", b"F"):
            with raw(server) as client:
                client.socket.sendall(kind + struct.pack("!I", (64 << 20) + 5))
                [(last, body)] = client.rest()
                assert last == b"E" and b"C08P01\0" in body and b"at most 67108864 bytes" in body
        with raw(server) as client:
            client.socket.sendall(b"S" + struct.pack("!I", 10_001))
            assert b"C08P01\0" in client.rest()[0][1]


@pytest.mark.parametrize("depth", [100, 400])
def test_types_that_are_nested_deeply_are_too_complex(bounded: Server, depth: int) -> None:
    nested = ["[" * depth + "1" + "]" * depth, "{'a':" * depth + "1" + "}" * depth, "null::integer" + "[]" * depth]
    with psycopg.connect(bounded.dsn, autocommit=True) as client, others_go_on(bounded):
        for value in nested:
            with pytest.raises((errors.StatementTooComplex, errors.FeatureNotSupported)):
                client.execute(f"select {value}")
        assert client.execute("select 1").fetchone() == (1,)


def test_the_text_of_records_in_records_is_bounded(bounded: Server) -> None:
    """Each level doubles the quotes of the levels within."""
    with psycopg.connect(bounded.dsn, autocommit=True) as client, others_go_on(bounded):
        record = "select " + "{'a':" * 50 + "1" + "}" * 50
        with pytest.raises(errors.FeatureNotSupported):
            client.execute(record)
        with pytest.raises(errors.FeatureNotSupported), client.cursor().copy(f"copy ({record}) to stdout") as copy:
            list(copy)
        with client.cursor().copy("copy (select {'a': {'b': 'x y'}}) to stdout") as copy:
            assert b"".join(copy) == b'("(""x y"")")\n'


def test_who_cancels_and_does_not_read_is_cut_off() -> None:
    """A cancel request does not end the time limit."""
    with serve("--statement-timeout", "1") as server, RawClient(server.host, server.port) as client:
        client.start("tester")
        _, key = client.expect(b"K")
        client.expect(b"Z")
        client.send(b"Q", b"select repeat('x', 1000) from range(100000000)\0")
        wait_until(lambda: client.socket.recv(1, socket.MSG_PEEK) != b"")
        with socket.create_connection((server.host, server.port), timeout=TIMEOUT) as canceling:
            canceling.sendall(struct.pack("!II", 16, 80877102) + key)
            assert canceling.recv(1) == b""
        wait_until(lambda: server.connections() == 0)
        with psycopg.connect(server.dsn) as other:
            assert other.execute("select 1").fetchone() == (1,)
