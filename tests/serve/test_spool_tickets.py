"""Who may use a ticket, for how long, and what happens when the space or the server ends."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from psycopg import errors

from tests.support.certificates import Authority, serve_options
from tests.support.metrics import base, numbers
from tests.support.raw_client import wait_until
from tests.support.spools import part_bytes, part_table, spool
from tests.support.users import add_user, user_command
from tests.testbed.serving import TIMEOUT, Server, serve


def connect(server: Server, user: str) -> psycopg.Connection:
    return psycopg.connect(
        host=server.host, port=server.port, user=user, password="secret", autocommit=True, dbname="x"
    )


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> Path:
    users = tmp_path_factory.mktemp("spools") / "users"
    add_user(users, "alice", "secret")
    add_user(users, "bob", "secret")
    add_user(users, "reader", "secret", "--read-only")
    return users


@pytest.fixture(scope="module")
def guarded(users: Path) -> Iterator[Server]:
    with serve("--users", users, "--spool-ttl", "60") as server:
        yield server


def refusal(client: psycopg.Connection, ticket: str) -> tuple[str | None, ...]:
    with pytest.raises(psycopg.Error) as raised:
        part_bytes(client, ticket, 1)
    found = raised.value.diag
    return found.sqlstate, found.message_primary, found.message_detail, found.message_hint


def test_a_ticket_is_its_users(guarded: Server) -> None:
    with connect(guarded, "alice") as alice, connect(guarded, "alice") as again, connect(guarded, "bob") as bob:
        [part] = spool(alice, "select 'private' as t")
        assert part_table(again, part.ticket, 1)["t"].to_pylist() == ["private"]
        forged = part.ticket[:-1] + ("0" if part.ticket[-1] != "0" else "1")
        wrong = {
            refusal(bob, ticket) for ticket in (part.ticket, forged, part.ticket[:-1], "", "''; select 1", "é" * 16)
        }
        assert len(wrong) == 1 and {code for code, *_ in wrong} == {"42704"}
        assert "private" not in repr(wrong) and part.ticket not in repr(wrong)
        # What is wrong with the part is no matter to another user.
        for number in (0, 2, 99):
            with pytest.raises(errors.UndefinedObject, match="this ticket does not exist"):
                part_bytes(bob, part.ticket, number)
        with pytest.raises(errors.UndefinedObject, match="this ticket does not exist"):
            bob.execute("SELECT * FROM colonnade_release(%s)", (part.ticket,))
        assert part_bytes(again, part.ticket, 1)
        with pytest.raises(errors.UndefinedObject, match="part 2 does not exist") as raised:
            part_bytes(alice, part.ticket, 2)
        assert raised.value.diag.message_hint == "The parts are 1 to 1."
        # The owner gets the same error after the release.
        alice.execute("SELECT * FROM colonnade_release(%s)", (part.ticket,))
        assert {refusal(alice, part.ticket)} == wrong


def test_the_query_has_the_rights_of_its_user(guarded: Server) -> None:
    with connect(guarded, "alice") as alice, connect(guarded, "reader") as reader:
        alice.execute("create or replace table kept (i int)")
        for query in (
            "insert into kept values (1) returning i",
            "select * from read_csv('/etc/passwd')",
            "select getenv('HOME')",
        ):
            with pytest.raises(psycopg.Error) as alone:
                reader.execute(query)
            with pytest.raises(psycopg.Error) as spooled:
                spool(reader, query)
            assert (spooled.value.sqlstate, spooled.value.diag.message_primary) == (
                alone.value.sqlstate,
                alone.value.diag.message_primary,
            )
        [part] = spool(alice, "insert into kept values (1), (2) returning i")
        assert part.rows == 2 and alice.execute("select count(*) from kept").fetchone() == (2,)


def test_a_role_that_was_lowered_has_no_old_tickets(tmp_path: Path) -> None:
    users = tmp_path / "users"
    add_user(users, "alice", "secret")
    with serve("--users", users) as server:
        with connect(server, "alice") as alice:
            [part] = spool(alice, "select 1")
        assert user_command("remove", "alice", "--users", users).returncode == 0
        add_user(users, "alice", "secret", "--read-only")
        server.process.send_signal(signal.SIGHUP)

        def is_lowered() -> bool:
            with connect(server, "alice") as alice:
                try:
                    return bool(part_bytes(alice, part.ticket, 1)) and False
                except errors.UndefinedObject:
                    return True

        wait_until(is_lowered)


@pytest.mark.parametrize("is_reloaded_between", [True, False], ids=["two reloads", "one reload"])
def test_a_new_user_with_the_name_of_a_removed_one_has_no_old_tickets(
    tmp_path: Path, is_reloaded_between: bool
) -> None:
    users = tmp_path / "users"
    add_user(users, "alice", "secret")
    add_user(users, "bob", "secret")
    with serve("--users", users, "--metrics", "127.0.0.1:0") as server:
        url = base(server)
        with connect(server, "alice") as alice, connect(server, "bob") as bob:
            [part] = spool(alice, "select 'private' as t")
            [others] = spool(bob, "select 1 as i")
            assert user_command("remove", "alice", "--users", users).returncode == 0
            if is_reloaded_between:
                server.process.send_signal(signal.SIGHUP)
                # The space is free again.
                wait_until(lambda: numbers(url)["spool_tickets"] == 1)
            # With another password, unless the file is read in between.
            password = "secret" if is_reloaded_between else "another"
            add_user(users, "alice", password)
            server.process.send_signal(signal.SIGHUP)
            uri = f"postgresql://alice:{password}@{server.host}:{server.port}/x"
            wait_until(lambda: comes_in(uri))
            with psycopg.connect(uri, autocommit=True) as new:
                assert refusal(new, part.ticket) == refusal(bob, part.ticket)
                [own] = spool(new, "select 2 as i")
                assert part_bytes(new, own.ticket, 1)
            # Nothing has changed for the other user.
            assert part_bytes(bob, others.ticket, 1)
            with connect(server, "bob") as again:
                assert part_bytes(again, others.ticket, 1)


def comes_in(uri: str) -> bool:
    try:
        psycopg.connect(uri).close()
    except psycopg.OperationalError:
        return False
    return True


def test_an_unused_ticket_expires_and_frees_its_space() -> None:
    with (
        serve("--spool-ttl", "1", "--metrics", "127.0.0.1:0") as server,
        psycopg.connect(server.dsn, autocommit=True) as client,
    ):
        url = base(server)
        [part] = spool(client, "from range(1000)")
        [brief] = spool(client, "from range(1000)", ttl=1)
        seen = numbers(url)
        assert (seen["spool_tickets"], seen["spools_total"]) == (2, 2)
        assert seen["spool_bytes"] >= part.encoded_bytes + brief.encoded_bytes
        # Each use begins the time anew.
        deadline = time.monotonic() + 1.5
        while time.monotonic() < deadline:
            assert part_bytes(client, part.ticket, 1)
        wait_until(lambda: numbers(url)["spool_tickets"] == 0)
        assert numbers(url)["spool_bytes"] == 0 and numbers(url)["spool_parts_sent_total"] > 1
        assert refusal(client, part.ticket)[0] == refusal(client, brief.ticket)[0] == "42704"


def test_a_reader_that_dies_holds_nothing() -> None:
    with serve("--metrics", "127.0.0.1:0") as server, psycopg.connect(server.dsn, autocommit=True) as client:
        url = base(server)
        [part] = spool(client, "from range(5000000)", compression="plain")
        reader = psycopg.connect(server.dsn, autocommit=True)
        reader.pgconn.exec_(f"COPY colonnade_part('{part.ticket}', 1) TO STDOUT (FORMAT colonnade)".encode())
        assert reader.pgconn.get_copy_data(0)[0] > 0
        client.execute("SELECT * FROM colonnade_release(%s)", (part.ticket,))
        # The file stays for the reader, and counts.
        seen = numbers(url)
        assert seen["spool_tickets"] == 0 and seen["spool_bytes"] >= part.encoded_bytes
        reader.pgconn.finish()
        wait_until(lambda: numbers(url)["spool_bytes"] == 0)


def test_spools_share_one_space_and_others_go_on(tmp_path: Path) -> None:
    options = ("--spool-size", "20MB", "--spool-directory", tmp_path / "spools")
    with serve(*options) as server, ExitStack() as stack:
        one, two = (stack.enter_context(psycopg.connect(server.dsn, autocommit=True)) for _ in range(2))
        [first] = spool(one, "from range(1500000)", compression="plain")
        descriptors = list(Path(f"/proc/{server.worker}/fd").iterdir())
        unnamed = [str(path.readlink()) for path in descriptors if path.is_symlink()]
        assert any(name.startswith(str(tmp_path / "spools")) and name.endswith("(deleted)") for name in unnamed)
        assert list((tmp_path / "spools").iterdir()) == []
        with pytest.raises(errors.ConfigurationLimitExceeded, match="--spool-size"):
            spool(two, "from range(1500000)", bytes=1_000_000, compression="plain")
        # The failed one has left nothing, and the first one is whole.
        [small] = spool(two, "from range(500000)", compression="plain")
        assert part_table(one, first.ticket, 1).num_rows == 1_500_000
        one.execute("SELECT * FROM colonnade_release(%s)", (first.ticket,))
        [second] = spool(two, "from range(1500000)", compression="plain")
        assert part_table(two, second.ticket, 1).num_rows == 1_500_000
        assert part_table(one, small.ticket, 1).num_rows == 500_000


def test_a_users_results_leave_space_for_those_of_others(users: Path, tmp_path: Path) -> None:
    options = ("--users", users, "--metrics", "127.0.0.1:0", "--spool-size", "20MB", "--spool-directory", tmp_path)
    with serve(*options) as server, connect(server, "alice") as alice, connect(server, "bob") as bob:
        url = base(server)
        [kept] = spool(alice, "from range(1000000)", compression="plain")
        # Half of the space is the default with users.
        with pytest.raises(errors.ConfigurationLimitExceeded, match=r"--spool-user-size \(10000000 bytes\)") as raised:
            spool(alice, "from range(1000000)", compression="plain")
        assert raised.value.diag.message_hint is not None
        [other] = spool(bob, "from range(1200000)", compression="plain")
        found = numbers(url)
        assert found["spool_largest_user_bytes"] >= other.encoded_bytes > kept.encoded_bytes
        assert found["spool_bytes"] >= kept.encoded_bytes + other.encoded_bytes
        assert (found["spools_total"], found["spools_refused_total"], found["spool_tickets"]) == (3, 1, 2)
        assert part_table(alice, kept.ticket, 1).num_rows == 1_000_000
        alice.execute("SELECT * FROM colonnade_release(%s)", (kept.ticket,))
        assert spool(alice, "from range(1200000)", compression="plain")[0].rows == 1_200_000
    with serve(*options, "--spool-user-size", "1MB") as server, connect(server, "bob") as bob:
        with pytest.raises(errors.ConfigurationLimitExceeded, match="1000000 bytes"):
            spool(bob, "from range(1000000)", compression="plain")
        assert spool(bob, "from range(100000)", compression="plain")[0].rows == 100_000


def test_the_limit_of_a_result_holds_for_a_spool() -> None:
    with serve("--max-result-bytes", "100kB") as server, psycopg.connect(server.dsn, autocommit=True) as client:
        with pytest.raises(errors.ProgramLimitExceeded, match="larger than 100000 bytes"):
            spool(client, "from range(100000)", compression="plain")
        [part] = spool(client, "from range(10000)", compression="plain")
        assert part_table(client, part.ticket, 1).num_rows == 10_000


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_full_disk_is_a_clear_error(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk], capture_output=True, check=False)
    if mounted.returncode != 0:
        pytest.skip("this machine does not allow a mount")
    try:
        with serve("--spool-directory", disk) as server, psycopg.connect(server.dsn, autocommit=True) as client:
            [small] = spool(client, "from range(1000)")
            with pytest.raises(errors.DiskFull, match="--spool-directory is full"):
                spool(client, "from range(10000000)", compression="plain")
            assert client.execute("select count(*) from range(10000000)").fetchone() == (10_000_000,)
            assert part_table(client, small.ticket, 1).num_rows == 1000
            [again] = spool(client, "from range(100000)")
            assert part_table(client, again.ticket, 1).num_rows == 100_000
    finally:
        subprocess.run(["umount", disk], check=True)


def test_tickets_end_with_the_engines_process() -> None:
    with serve() as server:
        with psycopg.connect(server.dsn, autocommit=True) as client:
            [part] = spool(client, "select 1")
        dead = server.worker
        os.kill(dead, signal.SIGKILL)
        wait_until(lambda: not Path(f"/proc/{dead}").exists())
        with psycopg.connect(server.dsn, autocommit=True) as client:
            code, message, _, hint = refusal(client, part.ticket)
            assert (code, message) == ("42704", "this ticket does not exist")
            assert hint is not None and "the server has restarted" in hint


def test_a_part_that_is_being_read_is_sent_to_its_end_after_sigterm() -> None:
    with serve("--grace", "60") as server, psycopg.connect(server.dsn, autocommit=True) as client:
        [part] = spool(client, "from range(5000000)", compression="plain")
        with client.cursor().copy(f"COPY colonnade_part('{part.ticket}', 1) TO STDOUT (FORMAT colonnade)") as copy:
            received = len(copy.read())
            server.process.send_signal(signal.SIGTERM)
            received += sum(len(data) for data in copy)
        assert received == part.encoded_bytes
        assert server.process.wait(TIMEOUT) == 0


def test_a_hundred_plans_and_one_that_is_never_read() -> None:
    with serve("--spool-size", "1GB") as server, ExitStack() as stack:
        clients = [stack.enter_context(psycopg.connect(server.dsn, autocommit=True)) for _ in range(4)]
        tickets = [spool(clients[at % 4], f"select {at} as i from range(100)")[0].ticket for at in range(101)]
        assert len(set(tickets)) == 101
        for at in range(100):
            assert set(part_table(clients[(at + 1) % 4], tickets[at], 1)["i"].to_pylist()) == {at}


def test_a_part_is_the_same_over_tls(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "ca", "Root")
    options = serve_options(tmp_path, authority, "server")
    with serve(*options, "--unix", tmp_path / ".s.PGSQL.5433", "--listen", "127.0.0.1:0") as server:
        dsn = f"host={server.host} port={server.port} user=alice password=secret dbname=x"
        encrypted = psycopg.connect(f"{dsn} sslmode=require", autocommit=True)
        with encrypted:
            assert encrypted.pgconn.ssl_in_use
            parts = spool(encrypted, "select i, 'x' || i as t from range(300000) r(i)", bytes=2_000_000)
            rows = 0
            for part in parts:
                sent = part_bytes(encrypted, part.ticket, part.part)
                assert len(sent) == part.encoded_bytes
                rows += part_table(encrypted, part.ticket, part.part).num_rows
            assert rows == 300_000


def test_the_servers_memory_is_flat(tmp_path: Path) -> None:
    with (
        serve("--threads", "1", "--spool-directory", tmp_path) as server,
        psycopg.connect(server.dsn, autocommit=True) as client,
    ):
        spool(client, "from range(1000000)")
        before = server.memory("VmHWM")
        parts = spool(client, "from range(40000000)", compression="plain")
        assert sum(part.plain_bytes for part in parts) == 320_000_000
        for part in parts:
            part_bytes(client, part.ticket, part.part)
        assert server.memory("VmHWM") - before < 64 << 20
