"""Who may come in to `colonnade serve --users FILE`: real clients' passwords, roles, limits, and guessing."""

from __future__ import annotations

import signal
import socket
import stat
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import colonnade
import psycopg
import pytest
from psycopg import errors

from tests.support.raw_login import RawClient, question, raw_login
from tests.support.users import add_user, user_command
from tests.testbed.serving import Server, serve

ALICE = "käse \u2168 $: 'x'"


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> Path:
    users = tmp_path_factory.mktemp("users") / "users"
    add_user(users, "alice", ALICE)
    add_user(users, "reader", "secret", "--read-only")
    add_user(users, "few", "secret", "--connections", "1")
    return users


@pytest.fixture(scope="module")
def guarded(users: Path) -> Iterator[Server]:
    with serve("--users", users, "--listen", "127.0.0.1:0", "--unix", users.parent / "socket") as running:
        yield running


def connect(server: Server, user: str, password: str, **options: object) -> psycopg.Connection:
    return psycopg.connect(host=server.host, port=server.port, user=user, password=password, autocommit=True, **options)


def test_the_right_password_comes_in(guarded: Server) -> None:
    with connect(guarded, "alice", ALICE) as alice:
        assert alice.execute("select 1").fetchone() == (1,)
        assert alice.info.parameter_status("session_authorization") == "alice"


def test_a_password_is_the_same_however_it_is_written(guarded: Server) -> None:
    # SASLprep: the Roman numeral nine is two letters.
    connect(guarded, "alice", ALICE.replace("\u2168", "IX")).close()


def test_colonnades_own_client_comes_in(guarded: Server) -> None:
    uri = f"postgresql://reader:secret@{guarded.host}:{guarded.port}/test"
    assert colonnade.read_sql(uri, "select 42 as answer", return_type="arrow").to_pylist() == [{"answer": 42}]
    with pytest.raises(colonnade.OperationalError, match="28P01"):
        colonnade.read_sql(uri.replace("secret", "wrong"), "select 1")


def test_a_unix_socket_asks_too(guarded: Server) -> None:
    assert guarded.unix is not None
    uri = f"postgresql:///test?host={guarded.unix}&user=reader&password="
    assert colonnade.read_sql(uri + "secret", "select 1 as i", return_type="arrow").num_rows == 1
    with pytest.raises(colonnade.OperationalError, match="28P01"):
        colonnade.read_sql(uri + "wrong", "select 1")


def test_psql_comes_in(guarded: Server) -> None:
    command = ["psql", "-XAtc", "select 1", f"host={guarded.host} port={guarded.port} user=reader password=secret"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "1\n"


@pytest.mark.parametrize(("name", "password"), [("reader", "wrong"), ("nobody", "secret"), ("reader", "secret ")])
def test_others_stay_out_and_learn_nothing(guarded: Server, name: str, password: str) -> None:
    with pytest.raises(psycopg.OperationalError, match=f'password authentication failed for user "{name}"'):
        connect(guarded, name, password)
    assert "28P01" in raw_login(guarded, name)


def test_who_does_not_exist_is_asked_the_same(guarded: Server) -> None:
    asked = [question(guarded, name) for name in ("reader", "reader", "ghost", "ghost", "ghoul")]
    assert asked[0] == asked[1] and asked[2] == asked[3] != asked[4]
    # A salt of 16 bytes, and as many iterations.
    assert {len(text) for text in asked} == {len(asked[0])}
    assert all(text.endswith(",i=4096") for text in asked)


@pytest.mark.parametrize(
    "message", [b"Q\0\0\0\x0dselect 1\0", b"P\0\0\0\x10\0select 1\0\0\0", b"d\x04\0\0\0", b"X\0\0\0\x04"]
)
def test_nothing_but_an_answer_is_heard_before_the_login(guarded: Server, message: bytes) -> None:
    with RawClient(guarded.host, guarded.port) as client:
        client.start("alice")
        client.expect(b"R")
        client.socket.sendall(message)
        kinds = [kind for kind, _ in client.rest()]
        assert kinds in ([b"E"], [])


@pytest.mark.parametrize("mechanism", [b"SCRAM-SHA-256-PLUS", b"PLAIN", b""])
def test_other_mechanisms_are_refused(guarded: Server, mechanism: bytes) -> None:
    assert "08P01" in raw_login(guarded, "alice", mechanism)


def test_a_user_has_no_more_connections_than_its_limit(guarded: Server) -> None:
    too_many = pytest.raises(psycopg.OperationalError, match="too many connections for role")
    with connect(guarded, "few", "secret"), too_many:
        connect(guarded, "few", "secret")
    # Another one once the first is gone, which the server notices soon.
    for attempt in range(100):
        try:
            connect(guarded, "few", "secret").close()
            break
        except psycopg.OperationalError:
            assert attempt < 99


def test_guessing_takes_time(users: Path) -> None:
    with serve("--users", users) as server:
        for _ in range(5):
            with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
                connect(server, "alice", "guess")
        with pytest.raises(psycopg.OperationalError, match="too many failed logins; try again in"):
            connect(server, "alice", ALICE)
        # Nobody else has to wait.
        connect(server, "reader", "secret").close()


def test_a_read_only_user_cannot_write(guarded: Server) -> None:
    with connect(guarded, "alice", ALICE) as alice, connect(guarded, "reader", "secret") as reader:
        alice.execute("create or replace table guarded_t (i integer)")
        alice.execute("create or replace sequence guarded_s")
        alice.execute("insert into guarded_t values (1)")
        assert reader.execute("select * from guarded_t").fetchall() == [(1,)]
        reader.execute("create temp table own as select 7 as i")
        for statement in [
            "insert into guarded_t values (2)",
            "with x as (insert into guarded_t values (2) returning i) select * from x",
            "update guarded_t set i = 3",
            "delete from guarded_t",
            "truncate guarded_t",
            "drop table guarded_t",
            "alter table guarded_t add column j integer",
            "create table other (i integer)",
            "create schema other",
            "create view other as select 1",
            "create macro other() as 1",
            "comment on table guarded_t is 'mine'",
            "explain analyze insert into guarded_t values (2)",
            "merge into guarded_t using (select 1 as i) u on guarded_t.i = u.i when matched then delete",
            "select nextval('guarded_s')",
        ]:
            with pytest.raises(errors.ReadOnlySqlTransaction):
                reader.execute(statement)
        reader.execute("prepare p as insert into guarded_t values (2)")
        with pytest.raises(errors.ReadOnlySqlTransaction):
            reader.execute("execute p")
        for statement in ["checkpoint", "force checkpoint", "vacuum", "analyze", "call force_checkpoint()"]:
            with pytest.raises(errors.InsufficientPrivilege):
                reader.execute(statement)
        assert reader.execute("select * from own").fetchall() == [(7,)]
        assert alice.execute("select * from guarded_t").fetchall() == [(1,)]


@pytest.mark.parametrize("begin", ["begin", "begin transaction read write", "start transaction", "/* x */ begin"])
def test_a_transaction_of_ones_own_does_not_help_to_write(guarded: Server, begin: str) -> None:
    with connect(guarded, "alice", ALICE) as alice, connect(guarded, "reader", "secret") as reader:
        alice.execute("create table if not exists guarded_u (i integer)")
        reader.execute(begin)
        assert reader.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
        with pytest.raises(errors.ReadOnlySqlTransaction):
            reader.execute("insert into guarded_u values (1)")
        reader.execute("rollback")
        with pytest.raises(errors.ReadOnlySqlTransaction):
            reader.execute("begin; insert into guarded_u values (1); commit")
        reader.execute("rollback")
        with pytest.raises(errors.ReadOnlySqlTransaction):
            reader.execute("select 1; insert into guarded_u values (1)")
        assert reader.execute("select count(*) from guarded_u").fetchone() == (0,)


def test_a_copy_takes_a_read_only_user_no_more_transactions_than_a_query(guarded: Server) -> None:
    def fewest(numbers: list[int]) -> int:
        """Transactions from one statement to the next. Another session's may come between."""
        return min(after - before for before, after in pairwise(numbers))

    with connect(guarded, "reader", "secret") as reader, reader.cursor() as cursor:
        copied, queried = [], []
        for number in range(5):
            # Another text each time: a statement that has run before is not looked at again.
            query = f"select current_transaction_id() + 0 * {number}"
            with cursor.copy(f"copy ({query}) to stdout".encode()) as rows:
                copied.append(int(b"".join(rows)))
        for number in range(5, 10):
            row = reader.execute(f"select current_transaction_id() + 0 * {number}".encode()).fetchone()
            assert row is not None
            queried.append(int(row[0]))
    assert fewest(copied) == fewest(queried)


def test_a_read_only_user_sees_what_others_have_committed(guarded: Server) -> None:
    with connect(guarded, "alice", ALICE) as alice, connect(guarded, "reader", "secret") as reader:
        alice.execute("create or replace table guarded_v as select 1 as i")
        counted = reader.execute("select count(*) from guarded_v").fetchone()
        alice.execute("insert into guarded_v values (2)")
        assert counted == (1,)
        assert reader.execute("select count(*) from guarded_v").fetchone() == (2,)
        reader.execute("begin")
        assert reader.execute("select count(*) from guarded_v").fetchone() == (2,)
        alice.execute("insert into guarded_v values (3)")
        assert reader.execute("select count(*) from guarded_v").fetchone() == (2,)
        reader.execute("commit")
        assert reader.execute("select count(*) from guarded_v").fetchone() == (3,)


@pytest.mark.parametrize("prepare", [False, True])
def test_a_read_only_user_executes_prepared_statements(guarded: Server, prepare: bool) -> None:
    with connect(guarded, "alice", ALICE) as alice, connect(guarded, "reader", "secret") as reader:
        alice.execute("create or replace table guarded_x as select 1 as i")
        reader.execute("prepare numbers as select range from range(100000)")
        for begin, end in (("select 1", "select 1"), ("begin", "commit"), ("begin", "rollback")):
            reader.execute(begin)
            for _ in range(2):
                assert len(reader.execute("execute numbers", prepare=prepare).fetchall()) == 100_000
            assert reader.execute("select count(*) from guarded_x").fetchone() == (1,)
            reader.execute(end)
        # psycopg sends DEALLOCATE ALL after a rollback, if it has prepared statements.
        reader.execute("prepare writes as insert into guarded_x values (2) returning i")
        for begin, end in (("select 1", "select 1"), ("begin", "rollback")):
            reader.execute(begin)
            with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
                reader.execute("execute writes", prepare=prepare)
            reader.execute(end)
        assert alice.execute("select count(*) from guarded_x").fetchone() == (1,)


def test_users_are_read_again_on_sighup(tmp_path: Path) -> None:
    users = tmp_path / "users"
    add_user(users, "first", "one")
    add_user(users, "third", "three")
    with (
        serve("--users", users) as server,
        connect(server, "first", "one") as ends,
        connect(server, "third", "three") as stays,
    ):
        add_user(users, "second", "two")
        add_user(users, "third", "another")
        assert user_command("remove", "first", "--users", users).returncode == 0
        server.process.send_signal(signal.SIGHUP)
        connect_soon(server, "second", "two")
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            connect(server, "first", "one")
        # The sessions of a user who was removed end, and those of a user who has another password stay.
        with pytest.raises(psycopg.errors.AdminShutdown):
            ends.execute("select 1")
        assert stays.execute("select 1").fetchone() == (1,)
        users.write_text("nonsense")
        server.process.send_signal(signal.SIGHUP)
        assert server.process.stderr is not None
        said = server.process.stderr.readline()
        while "the old users and certificates stay" not in said:
            said = server.process.stderr.readline()
        assert "line 1" in said
        connect(server, "second", "two").close()


def test_the_statement_of_a_removed_user_ends(tmp_path: Path) -> None:
    users = tmp_path / "users"
    add_user(users, "first", "one")
    with serve("--users", users) as server, connect(server, "first", "one") as client, client.cursor() as cursor:
        rows = cursor.stream("select i from range(1000000000000) t(i)")
        assert next(rows) == (0,)
        assert user_command("remove", "first", "--users", users).returncode == 0
        server.process.send_signal(signal.SIGHUP)
        with pytest.raises(psycopg.errors.AdminShutdown):
            for _ in rows:
                pass


def connect_soon(server: Server, name: str, password: str) -> None:
    """Once the server has read its users again."""
    for left in reversed(range(4)):
        try:
            connect(server, name, password).close()
            break
        except psycopg.OperationalError:
            assert left > 0


def test_the_users_file_holds_no_password_and_is_the_owners(users: Path) -> None:
    text = users.read_text()
    assert ALICE not in text and "secret" not in text
    assert text.count("SCRAM-SHA-256$4096:") == 3
    assert stat.S_IMODE(users.stat().st_mode) == 0o600


def test_verifiers_are_postgresqls(users: Path, stock: object) -> None:
    """A line's verifier can be given to PostgreSQL, and the password works there."""
    verifier = next(line.split()[-1] for line in users.read_text().splitlines() if line.startswith('"reader"'))
    with stock.connect() as session:  # type: ignore[attr-defined]
        session.execute(f"create role carried login password '{verifier}'")
        stored = session.execute("select rolpassword from pg_authid where rolname = 'carried'").fetchone()
        assert stored == (verifier,)


def test_users_are_listed_and_removed(tmp_path: Path) -> None:
    users = tmp_path / "users"
    add_user(users, 'o"neil', "x", "--read-only", "--connections", "3")
    add_user(users, "bob", "x")
    assert user_command("list", "--users", users).stdout == 'bob\tread-write\t\no"neil\tread-only\t3\n'
    assert user_command("remove", "bob", "--users", users).returncode == 0
    assert user_command("list", "--users", users).stdout == 'o"neil\tread-only\t3\n'
    missing = user_command("remove", "bob", "--users", users)
    assert (missing.returncode, "there is no user bob" in missing.stderr) == (1, True)
    assert "the password is empty" in user_command("add", "eve", "--users", users).stderr
    assert "name has 1 to 63 bytes" in user_command("add", "", "--users", users, password="x").stderr


def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    users = tmp_path / "users"
    add_user(users, "bob", "x")
    users.chmod(0o644)
    assert f"protect it: chmod 600 {users}" in user_command("list", "--users", users).stderr
    with pytest.raises(RuntimeError, match="protect it: chmod 600"), serve("--users", users):
        pass


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0"])
def test_other_machines_are_let_in_with_tls_and_passwords_only(users: Path, address: str) -> None:
    for options in ([], ["--users", users]):
        with (
            pytest.raises(RuntimeError, match="colonnade user add NAME --users FILE"),
            serve("--listen", address, *options),
        ):
            pass


def test_who_says_nothing_is_not_waited_for(users: Path) -> None:
    with serve("--users", users, "--login-timeout", "1") as server:
        silent = socket.create_connection((server.host, server.port))
        silent.settimeout(30)
        slow = RawClient(server.host, server.port)
        slow.start("alice")
        assert b"canceling authentication due to timeout" in silent.recv(1000)
        kinds = slow.rest()
        assert kinds[-1][0] == b"E" and b"timeout" in kinds[-1][1]
        silent.close()
        slow.close()
