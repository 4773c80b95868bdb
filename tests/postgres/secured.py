"""A PostgreSQL with TLS, for the time of a `with` block."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.certificates import Authority, Pair
from tests.support.raw_client import wait_until
from tests.testbed import postgres as pg

HOST = "db.shop.example"
PASSWORD = "not that secret"
#: Roles, and the rule that lets them in over TCP.
RULES = """
local   all all               trust
hostssl all only_ssl   127.0.0.1/32 trust
hostnossl all only_plain 127.0.0.1/32 trust
hostssl all by_cert    127.0.0.1/32 cert
host    all by_scram   127.0.0.1/32 scram-sha-256
host    all by_md5     127.0.0.1/32 md5
host    all tester     127.0.0.1/32 trust
"""


@dataclass
class Secured:
    """A cluster with TLS, and the authority that signs its certificates."""

    cluster: pg.Cluster
    authority: Authority
    stranger: Authority

    def info(self, user: str = "tester", *, port: int | None = None, **parameters: str | Path) -> str:
        """Keywords and values: the host is called as its certificate should call it."""
        words = {"host": HOST, "hostaddr": "127.0.0.1", "port": str(port or self.cluster.port), "dbname": "postgres"}
        words |= {"user": user} | {name: str(value) for name, value in parameters.items()}
        # Paths of Windows have backslashes.
        escaped = {name: value.replace("\\", "\\\\").replace("'", "\\'") for name, value in words.items()}
        return " ".join(f"{name}='{value}'" for name, value in escaped.items())

    def show(self, pair: Pair) -> None:
        """Has the server use a certificate from now on."""
        data = self.cluster.directory / "data"
        for source, name in ((pair.certificate, "server.crt"), (pair.key, "server.key")):
            shutil.copyfile(source, data / name)
            (data / name).chmod(0o600)
            pg.give(data / name)
        self.reload()

    def reload(self) -> None:
        """Has the server read its files again, and waits until new sessions are made by them."""

        def loaded() -> object:
            with self.cluster.connect() as session:
                return session.execute("select pg_conf_load_time()").fetchone()

        before = loaded()
        with self.cluster.connect() as session:
            session.execute("select pg_reload_conf()")
        wait_until(lambda: loaded() != before)


@contextmanager
def server() -> Iterator[Secured]:
    with pg.scratch() as directory, pg.cluster(pg.stock()) as cluster:
        authority, stranger = Authority(directory / "ca", "Ours"), Authority(directory / "other", "Theirs")
        data = cluster.directory / "data"
        shutil.copyfile(authority.certificate, data / "root.crt")
        pg.give(data / "root.crt")
        (data / "pg_hba.conf").write_text(RULES)
        with cluster.connect() as session:
            for role in ("only_ssl", "only_plain", "by_cert"):
                session.execute(f"create role {role} login")
            session.execute(f"create role by_scram login password '{PASSWORD}'")
            session.execute(f"set password_encryption = md5; create role by_md5 login password '{PASSWORD}'")
            session.execute("alter system set ssl = on")
            session.execute("alter system set ssl_ca_file = 'root.crt'")
        found = Secured(cluster, authority, stranger)
        found.show(authority.sign("somebody", f"DNS:{HOST}", "IP:127.0.0.1"))
        yield found
