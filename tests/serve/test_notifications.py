"""LISTEN and NOTIFY, as PostgreSQL has them: between sessions, sent at COMMIT, received between transactions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import psycopg
import pytest
from psycopg import errors

from tests.support.notifications import waited_for
from tests.support.raw_client import hand_shake, send_query, wait_until
from tests.testbed import postgres as pg
from tests.testbed.serving import TIMEOUT, Server


class Session:
    """A session, and the channels and texts of what it has received."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self.connection = psycopg.connect(dsn, autocommit=True)
        self.received: list[tuple[str, str]] = []
        self.senders: set[int] = set()
        self.connection.add_notify_handler(self._receive)

    def _receive(self, notification: psycopg.Notify) -> None:
        self.received.append((notification.channel, notification.payload))
        self.senders.add(notification.pid)

    @property
    def number(self) -> int:
        return self.connection.info.backend_pid

    def run(self, *statements: str) -> None:
        for statement in statements:
            self.connection.execute(statement.encode())

    def texts(self) -> list[str]:
        """The texts since the last call. All that was committed before has arrived with the answer to a query."""
        self.run("select 1")
        texts = [payload for _, payload in self.received]
        self.received.clear()
        return texts

    def channels(self) -> list[str]:
        query = "select * from pg_listening_channels() order by 1"
        return [channel for (channel,) in self.connection.execute(query).fetchall()]


Opens = Callable[[], Session]


@pytest.fixture(params=["server", "PostgreSQL"])
def opens(request: pytest.FixtureRequest) -> Iterator[Opens]:
    """Opens sessions of the server, or of PostgreSQL, which has to answer all the same."""
    if request.param == "server":
        server: Server = request.getfixturevalue("server")
        dsn = server.dsn
    else:
        stock: pg.Cluster = request.getfixturevalue("stock")
        dsn = stock.uri()
    with ExitStack() as stack:

        def opened() -> Session:
            session = Session(dsn)
            stack.callback(session.connection.close)
            return session

        yield opened


def test_a_session_that_waits_gets_it_at_once(opens: Opens) -> None:
    sender = opens()
    received = waited_for(sender.dsn, lambda text: sender.run(f"select pg_notify('alarm', '{text}')"))
    assert received == [("one", sender.number), ("two", sender.number)]


def test_a_transactions_notifications_arrive_together(opens: Opens) -> None:
    sender = opens()
    with psycopg.connect(sender.dsn, autocommit=True) as listener, ThreadPoolExecutor(1) as thread:
        listener.execute("listen t")
        for _ in range(20):
            waiting = thread.submit(list, listener.notifies(timeout=TIMEOUT, stop_after=1))
            sender.run("begin", "notify t, '1'", "notify t, '2'", "commit")
            assert [notification.payload for notification in waiting.result(TIMEOUT)] == ["1", "2"]


def test_channels_are_names(opens: Opens) -> None:
    session = opens()
    session.run('listen Folded; listen "Quoted one"; listen "Quoted one"')
    assert session.channels() == ["Quoted one", "folded"]
    session.run("notify FOLDED, 'a'", "notify \"Quoted one\", E'b\\nc'", "notify \"Folded\", 'd'", "notify folded")
    session.run("select pg_notify('folded', null)", "select pg_notify('FOLDED', 'e')")
    assert session.received == [("folded", "a"), ("Quoted one", "b\nc"), ("folded", ""), ("folded", "")]
    long = "n" * 70
    session.run(f"listen {long}", f"notify {long}, 'long'", "select pg_notify(repeat('n', 63), 'cut')")
    assert session.received[-2:] == [("n" * 63, "long"), ("n" * 63, "cut")]
    session.run("unlisten folded", "unlisten nobody", "notify folded, 'f'")
    assert session.channels() == ["Quoted one", "n" * 63]
    session.run("unlisten *", 'notify "Quoted one"')
    assert session.channels() == []
    assert "f" not in session.texts()


def test_a_transaction_sends_when_it_commits(opens: Opens) -> None:
    listener, sender = opens(), opens()
    listener.run("listen t", "listen u")
    sender.run("begin", "notify t, '1'", "notify u, '2'", "select pg_notify('t', '3')")
    assert listener.texts() == []
    sender.run("commit")
    assert listener.texts() == ["1", "2", "3"]
    sender.run("begin", "notify t, '4'", "rollback")
    sender.run("begin", "notify t, '5'")
    with pytest.raises(psycopg.Error):
        sender.run("select nothing")
    sender.run("commit", "notify t, '6'")
    assert listener.texts() == ["6"]
    with pytest.raises(psycopg.Error):
        sender.run("notify t, '7'; select nothing")
    sender.run("notify t, '8'; notify t, '9'")
    assert listener.texts() == ["8", "9"]


def test_a_transaction_sends_equal_ones_once(opens: Opens) -> None:
    listener, sender = opens(), opens()
    listener.run("listen t")
    sender.run("begin", "notify t, '1'", "notify t, '2'", "notify t, '1'", "select pg_notify('t', '2')", "commit")
    sender.run("notify t, '1'")
    assert listener.texts() == ["1", "2", "1"]


def test_going_back_to_a_savepoint_takes_it_back(opens: Opens) -> None:
    session = opens()
    session.run("listen t", "begin", "notify t, '1'", "savepoint s", "notify t, '1'", "notify t, '2'", "listen later")
    session.run("rollback to s", "notify t, '3'", "notify t, '2'", "savepoint r", "notify t, '4'", "release r")
    assert session.texts() == []
    session.run("commit")
    assert session.texts() == ["1", "3", "2", "4"]
    assert session.channels() == ["t"]


def test_listen_takes_effect_at_commit(opens: Opens) -> None:
    listener, sender = opens(), opens()
    listener.run("begin", "listen t", "notify t, 'own'")
    assert listener.channels() == []
    sender.run("notify t, 'early'")
    listener.run("commit")
    assert listener.texts() == ["own"]
    listener.run("begin", "unlisten t", "rollback")
    sender.run("notify t, 'still'")
    assert listener.texts() == ["still"]
    listener.run("begin", "unlisten *", "notify t, 'gone'", "commit")
    assert listener.texts() == []


def test_a_transaction_receives_when_it_has_ended(opens: Opens) -> None:
    listener, sender = opens(), opens()
    listener.run("listen t", "begin")
    sender.run("notify t, '1'", "notify t, '2'")
    assert listener.texts() == []
    with pytest.raises(psycopg.Error):
        listener.run("select nothing")
    sender.run("notify t, '3'")
    assert listener.received == []
    listener.run("rollback")
    assert listener.received == [("t", "1"), ("t", "2"), ("t", "3")]


def test_pipelines_send_and_receive_at_their_end(opens: Opens) -> None:
    listener, sender = opens(), opens()
    listener.run("listen t")
    with sender.connection.pipeline() as pipeline:
        sender.run("notify t, '1'")
        sender.connection.execute("select pg_notify('t', %s)", ["2"])
        pipeline.sync()
        sender.run("notify t, '3'")
    assert listener.texts() == ["1", "2", "3"]
    with pytest.raises(psycopg.Error), sender.connection.pipeline():
        sender.run("notify t, '4'", "select nothing")
    sender.run("notify t, '5'")
    with listener.connection.pipeline() as pipeline:
        listener.run("select 1")
        pipeline.sync()
        assert listener.received == [("t", "5")]


def test_discard_all_ends_listening(opens: Opens) -> None:
    session = opens()
    session.run("listen t", "discard all", "notify t, '1'")
    assert (session.channels(), session.texts()) == ([], [])
    session.run("listen t", "notify t, '2'")
    assert session.texts() == ["2"]


@pytest.mark.parametrize("wrong", ["'', 'x'", "null, 'x'", "repeat('c', 64), ''", "'c', repeat('x', 8000)"])
def test_names_and_texts_have_postgresqls_limits(opens: Opens, wrong: str) -> None:
    session = opens()
    with pytest.raises(errors.InvalidParameterValue):
        session.run(f"select pg_notify({wrong})")
    session.run("listen c", "select pg_notify('c', repeat('x', 7999))")
    assert session.texts() == ["x" * 7999]


@pytest.mark.parametrize("wrong", ["listen", "listen 'a'", "notify a 'b'", "notify a, 1", "unlisten"])
def test_wrong_statements_are_syntax_errors(opens: Opens, wrong: str) -> None:
    with pytest.raises(errors.SyntaxError):
        opens().run(wrong)


def test_statements_that_write_send_when_they_are_done(opens: Opens) -> None:
    listener, sender = opens(), opens()
    listener.run("listen t")
    sender.run("create temp table sent (i int primary key)")
    sender.run("insert into sent select i from (values (1), (2)) v(i) where pg_notify('t', i::text) is not null")
    assert sorted(listener.texts()) == ["1", "2"]
    with pytest.raises(errors.UniqueViolation):
        sender.run("insert into sent select i from (values (3), (2)) v(i) where pg_notify('t', i::text) is not null")
    assert listener.texts() == []


def test_texts_that_wait_have_a_limit(server: Server) -> None:
    """A session in a transaction keeps those of its channels waiting; others get an error then, and not the server."""
    listener, sender, other = (Session(server.dsn) for _ in range(3))
    send = "select count(pg_notify('full', i || repeat('x', 7900))) from range({}, {}) r(i)"
    listener.run("listen full", "begin")
    with pytest.raises(errors.ProgramLimitExceeded, match="too many notifications"):
        sender.run(send.format(0, 10_000))
    sender.run(send.format(0, 6_000))
    with pytest.raises(errors.ProgramLimitExceeded, match="too many notifications") as refused:
        other.run(*(f"notify full, '{i}{'x' * 7900}'" for i in range(6_000, 10_000)))
    assert refused.value.diag.message_hint is not None
    assert "client does not read" in refused.value.diag.message_hint
    listener.run("commit")
    assert len(listener.texts()) > 6_000
    other.run("notify full, 'again'")
    assert listener.texts() == ["again"]
    for session in (listener, sender, other):
        session.connection.close()


def test_a_client_that_does_not_read_delays_no_other(server: Server) -> None:
    sender, reader = Session(server.dsn), Session(server.dsn)
    reader.run("listen t")
    with hand_shake(server, small_buffer=True) as silent:
        send_query(silent, "listen t")
        wait_until(lambda: silent.recv(1000).endswith(b"I"))
        # More than the sockets' buffers hold.
        for _ in range(2):
            sender.run("select count(pg_notify('t', i || repeat('x', 7900))) from range(2000) r(i)")
            assert len(reader.texts()) == 2000

    def has_sent() -> bool:
        try:
            sender.run("select count(pg_notify('t', i || repeat('x', 7900))) from range(5000) r(i)")
        except errors.ProgramLimitExceeded:
            return False
        return True

    # Nothing of it is kept after the client's end. Together it would be too much.
    wait_until(has_sent)
    assert len(reader.texts()) == 5000
    sender.connection.close()
    reader.connection.close()


def test_an_idle_session_that_listens_has_its_time_limit(server: Server) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as session:
        session.execute("listen t")
        session.execute("set idle_session_timeout = '300ms'")
        with pytest.raises(psycopg.OperationalError, match=r"idle-session timeout|closed the connection"):
            list(session.notifies(timeout=TIMEOUT))


def test_a_cursors_query_at_commit_delays_no_other_session(server: Server) -> None:
    """Notifications have the order of their commits, but a commit that still runs a client's query is not one yet."""
    holder, slow, other, listener = (Session(server.dsn) for _ in range(4))
    listener.run("listen t")
    holder.run("select pg_advisory_lock(77)")
    slow.run("create table changed (i int)", "begin", "insert into changed values (1)", "notify t, 'slow'")
    # The query comes to its locks when all rows before them are read.
    locks = "case when i = 200_000 then pg_advisory_lock(78) when i > 200_000 then pg_advisory_lock(77) end"
    slow.run(f"declare c cursor with hold for select {locks}, repeat('x', 100) from range(210_000) r(i)")
    is_free = "select pg_try_advisory_lock(78) and pg_advisory_unlock(78)"
    assert holder.connection.execute(is_free).fetchall() == [(True,)]
    with ThreadPoolExecutor() as threads:
        committed = threads.submit(slow.run, "commit")
        try:
            wait_until(lambda: holder.connection.execute(is_free).fetchall() == [(False,)])
            for statements in (["notify t, '1'"], ["begin; notify t, '2'; commit"], ["select pg_notify('t', '3')"]):
                threads.submit(other.run, *statements).result(TIMEOUT)
            assert listener.texts() == ["1", "2", "3"]
            assert not committed.done()
            holder.run(f"select pg_cancel_backend({slow.number})")
            with pytest.raises(errors.QueryCanceled):
                committed.result(TIMEOUT)
        finally:
            holder.run("select pg_advisory_unlock(77)")
    # The session is as before the transaction.
    with pytest.raises(errors.InvalidCursorName):
        slow.run("fetch c")
    assert slow.connection.execute("select * from changed").fetchall() == []
    slow.run("drop table changed", "notify t, 'after'")
    assert listener.texts() == ["after"]
    for session in (holder, slow, other, listener):
        session.connection.close()


def test_only_a_new_channel_is_one_too_many(server: Server) -> None:
    session = Session(server.dsn)
    session.run("; ".join(f"listen c{number}" for number in range(10_000)))
    with pytest.raises(errors.ProgramLimitExceeded, match="too many channels"):
        session.run("listen one_more")
    session.run("listen c0", "unlisten nothing", "unlisten c5", "listen one_more", "listen c0")
    assert len(session.channels()) == 10_000
    session.run("unlisten *")
    assert session.channels() == []
    session.connection.close()


def test_a_notification_arrives_after_a_query_that_is_no_text(server: Server) -> None:
    with hand_shake(server) as client, psycopg.connect(server.dsn, autocommit=True) as other:
        for query, answer in ((b"listen t", b"C"), (b"select '\xff'", b"E")):
            client.sendall(b"Q" + (len(query) + 5).to_bytes(4, "big") + query + b"\0")
            answered = b""
            while not answered.endswith(b"Z\0\0\0\x05I"):
                answered += client.recv(1000)
            assert answered.startswith(answer)
        other.execute("notify t, 'text'")
        arrived = b""
        while not arrived.endswith(b"text\0"):
            arrived += client.recv(1000)
        assert arrived.startswith(b"A")
