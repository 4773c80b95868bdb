"""Two network namespaces with a shaped link between them, and a server and clients in them. Needs root, and Linux.

The client's side reaches a server on 127.0.0.1 of the server's side by the address SERVER, which the shaper translates.
For the server such a client is on another machine: `colonnade serve` requires a password and TLS.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from process import cpu_seconds

SERVER = "10.99.7.1"
#: The user's name and password.
USER = "laboratory:laboratory"
#: The namespaces, and the devices in them. Each process has its own names, so that several can measure at the same
#: time. A device's name has at most 15 bytes.
SERVER_SIDE, CLIENT_SIDE = f"col-s-{os.getpid()}", f"col-c-{os.getpid()}"
#: The largest offloaded unit on a link whose rate may fall: a unit of 64 KiB would take 50 ms at 10 Mbit/s.
SMALL_UNIT = 12_000
SHUTDOWN_SECONDS = 10
#: linux/sched.h
CLONE_NEWNET = 0x40000000
#: Plain bytes of a chunk, small enough that a slow link transfers many chunks in acceptable time.
CHUNK_BYTES = 512 * 1024


def arguments(
    description: str | None, links: Iterable[str], default: Iterable[str] | None = None, rounds: int = 1
) -> argparse.ArgumentParser:
    """The arguments that all measurements over links have."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = list(links)
    parser.add_argument("--links", nargs="*", choices=names, default=list(default or names), metavar="NAME")
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--shaper", type=Path, default=Path("target/release/colonnade-shaper"))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    return parser


def begin(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """The parsed arguments. Without root the program ends; SIGTERM takes the network namespaces down."""
    parsed = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit(f"{Path(sys.argv[0]).name} makes network namespaces, which needs root")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    return parsed


def congestion_controls() -> list[str]:
    """The algorithms that the kernel supports."""
    return Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()


@dataclass(frozen=True)
class Link:
    """The link between client and server."""

    name: str
    #: Mbit/s; `None` is this machine itself.
    rate: float | None
    #: Each way, in milliseconds.
    delay: float = 0.25
    #: A share from 0 to 1.
    loss: float = 0.0
    queue: int = 500_000
    congestion: str = "cubic"
    #: The consecutive rates, and the seconds that each lasts.
    swings: tuple[float, ...] = ()
    period: float = 2.0
    #: Whether the kernel passes units of up to 64 KiB to the shaper instead of packets, which costs less CPU time. As a
    #: default it does on fast links without loss: a unit is lost as a whole, and on a slow link it comes in a burst.
    offload: bool | None = None

    @property
    def described(self) -> str:
        if self.rate is None:
            return self.name
        rates = " ↔ ".join(f"{rate:g}" for rate in self.swings or (self.rate,))
        if len(self.swings) > 2:
            rates = f"{min(self.swings):g} to {max(self.swings):g}"
        period = f" in turns of {self.period:g} s" if self.swings else ""
        loss = f", {self.loss:.0%} loss" if self.loss else ""
        return f"{rates} Mbit/s{period}, {2 * self.delay:g} ms{loss}, {self.congestion.upper()}"


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)


def inside(namespace: str, *command: str) -> list[str]:
    return ["ip", "netns", "exec", namespace, *command]


@contextmanager
def within(namespace: str) -> Iterator[None]:
    """Moves this thread, and the processes that it starts, to a namespace during the block."""
    libc = ctypes.CDLL(None, use_errno=True)

    def enter(descriptor: int) -> None:
        if libc.setns(descriptor, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"could not enter the namespace {namespace}")

    with Path("/proc/thread-self/ns/net").open() as own, (Path("/run/netns") / namespace).open() as other:
        enter(other.fileno())
        try:
            yield
        finally:
            enter(own.fileno())


@dataclass(frozen=True)
class Ends:
    """The ends of a link. The server's namespace may have several links, each to a client's namespace of its own."""

    number: int = 0

    @property
    def device(self) -> str:
        """The server's device."""
        return SERVER_SIDE if self.number == 0 else f"col-s{self.number}-{os.getpid()}"

    @property
    def client_side(self) -> str:
        """The client's namespace, and its device."""
        return CLIENT_SIDE if self.number == 0 else f"col-c{self.number}-{os.getpid()}"

    @property
    def server(self) -> str:
        """The server's address for this client."""
        return f"10.99.{7 + self.number}.1"

    @property
    def client(self) -> str:
        return f"10.99.{7 + self.number}.2"

    @property
    def network(self) -> str:
        return f"10.99.{7 + self.number}.0/30"


@contextmanager
def shaped(link: Link, shaper: Path) -> Iterator[Swing | None]:
    """The namespaces, and the link between them, during the block."""
    with ExitStack() as stack:
        stack.enter_context(namespaces())
        yield stack.enter_context(wire(link, shaper)) if link.rate is not None else None


@contextmanager
def namespaces(links: int = 1) -> Iterator[None]:
    """The server's namespace, and one for the client of each link."""
    with ExitStack() as stack:
        for namespace in (SERVER_SIDE, *(Ends(number).client_side for number in range(links))):
            run("ip", "netns", "add", namespace)
            stack.callback(run, "ip", "netns", "delete", namespace)
            run(*inside(namespace, "ip", "link", "set", "lo", "up"))
        yield


@contextmanager
def wire(link: Link, shaper: Path, ends: Ends = Ends()) -> Iterator[Swing]:
    """The link, during the block."""
    offload = link.offload
    if offload is None:
        offload = link.loss == 0 and max(link.swings or (link.rate or 0,)) > 200
    shape = [link.rate, round(link.delay * 1000), link.loss, link.queue, int(offload)]
    command = [shaper, ends.device, ends.client_side, *shape, ends.server]
    with subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        if process.stdout.readline() != "ready\n":
            raise RuntimeError("the shaper did not start")
        sides = (ends.device, SERVER_SIDE, ends.server), (ends.client_side, ends.client_side, ends.client)
        for device, namespace, address in sides:
            run("ip", "link", "set", device, "netns", namespace)
            run(*inside(namespace, "ip", "address", "add", f"{address}/30", "dev", device))
            if link.swings:
                run(*inside(namespace, "ip", "link", "set", device, "gso_max_size", str(SMALL_UNIT)))
            run(*inside(namespace, "ip", "link", "set", device, "txqueuelen", "10000", "up"))
            # Set on the route, because the default of new namespaces can only be changed for the whole machine.
            route = (ends.network, "dev", device, "src", address, "congctl", link.congestion)
            run(*inside(namespace, "ip", "route", "replace", *route, "proto", "kernel", "scope", "link"))
            # Measurements of earlier transfers on the path must not affect this one.
            run(*inside(namespace, "sysctl", "-qw", "net.ipv4.tcp_no_metrics_save=1"))
        run(*inside(SERVER_SIDE, "sysctl", "-qw", f"net.ipv4.conf.{ends.device}.route_localnet=1"))
        swing = Swing(link.swings, link.period, process.stdin)
        try:
            yield swing
        finally:
            swing.end()
            process.stdin.close()
            process.wait(SHUTDOWN_SECONDS)


class Swing:
    """Changes the link's rate periodically; `restart` begins again with the first rate."""

    def __init__(self, rates: tuple[float, ...], period: float, shaper: IO[str]) -> None:
        self.rates, self.period, self.shaper = rates, period, shaper
        self.is_over = False
        self.again = threading.Event()
        self.thread = threading.Thread(target=self.run) if rates else None
        if self.thread:
            self.thread.start()

    def run(self) -> None:
        while not self.is_over:
            for rate in itertools.cycle(self.rates):
                print(f"rate {rate}", file=self.shaper, flush=True)
                if self.again.wait(self.period):
                    break
            self.again.clear()

    def restart(self) -> None:
        self.again.set()

    def end(self) -> None:
        self.is_over = True
        self.again.set()
        if self.thread:
            self.thread.join()


class Server:
    """A `colonnade serve` in its namespace."""

    def __init__(self, process: subprocess.Popen[str], port: int, unix: Path) -> None:
        self.process, self.port, self.unix = process, port, unix

    def uri(self, link: Link) -> str:
        if link.name == "unix socket":
            return f"postgresql://{USER}@/?host={self.unix}"
        if link.rate is None:
            return f"postgresql://{USER}@127.0.0.1:{self.port}/?sslmode=disable"
        # This saves the round trip of SSLRequest.
        return f"postgresql://{USER}@{SERVER}:{self.port}/?sslmode=require&sslnegotiation=direct"

    def cpu(self) -> float:
        return cpu_seconds(self.process.pid)


def access(directory: Path) -> list[str]:
    """Creates a user and a certificate; returns the options of `colonnade serve` for them."""
    users, certificate, key = (str(directory / name) for name in ("users", "certificate.pem", "key.pem"))
    name, _, password = USER.partition(":")
    add = [sys.executable, "-m", "colonnade", "user", "add", name, "--read-only", "--users", users]
    subprocess.run(add, input=password, text=True, stdout=subprocess.DEVNULL, check=True)
    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={SERVER}"]
    run("openssl", "req", "-x509", *new, "-keyout", key, "-out", certificate)
    return ["--users", users, "--tls-certificate", certificate, "--tls-key", key]


@contextmanager
def serving(database: Path, socket: Path, namespace: str | None = SERVER_SIDE) -> Iterator[Server]:
    """A server that listens on 127.0.0.1 of the namespace, or of this machine, and on the unix socket."""
    colonnade = [sys.executable, "-m", "colonnade", "serve", str(database), "--read-only", *access(socket.parent)]
    colonnade += ["--listen", "127.0.0.1:0", "--unix", str(socket)]
    command = inside(namespace, *colonnade) if namespace else colonnade
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            lines = [process.stdout.readline().strip() for _ in range(2)]
            [port] = [int(line.rpartition(":")[2]) for line in lines if line.startswith("listening on 127.")]
            yield Server(process, port, socket)
        finally:
            process.terminate()
            process.wait(SHUTDOWN_SECONDS)


class Client:
    """A client process in its namespace; `links_client.py`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def read(
        self, uri: str, query: str, compression: str, limit: float, chunk_bytes: int | None = CHUNK_BYTES
    ) -> dict[str, Any]:
        options = {"compression": compression, **({"chunk_bytes": chunk_bytes} if chunk_bytes else {})}
        return self.ask({"uri": uri, "query": query, "options": options, "limit": limit})

    def repeat(self, uri: str, query: str, compression: str, times: int) -> list[dict[str, Any]]:
        """Consecutive readings on one connection, in chunks of the default size."""
        return self.ask({"uri": uri, "query": query, "options": {"compression": compression}, "times": times})

    def drain_link(self, uri: str) -> None:
        """Waits until all packets in transit have arrived: in a full queue the first packet of the next reading would
        be lost."""
        self.ask({"uri": uri})

    def ask(self, question: dict[str, Any]) -> Any:
        assert self.process.stdin is not None and self.process.stdout is not None
        print(json.dumps(question), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the client has ended")
        return json.loads(line)


@contextmanager
def client(link: Link) -> Iterator[Client]:
    namespace = SERVER_SIDE if link.rate is None else CLIENT_SIDE
    command = inside(namespace, sys.executable, str(Path(__file__).with_name("links_client.py")))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Client(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(SHUTDOWN_SECONDS)
