"""Makes the fuzz targets' seed corpora, tests/fuzz/corpus/TARGET/*: the vectors of the specification as raw bytes, a
client's messages, and noise for the targets that make columns of it. What a fuzzer has added there stays. `make fuzz`
runs it; nothing but Python is needed."""

import random
import struct
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "spec"))

from reader.annotate import parse_hex  # noqa: E402

VECTORS = HERE.parents[1] / "spec" / "vectors"
STARTUP, READY = b"\0", b"\1"  # what the target `frontend` takes for its first byte


def vectors() -> dict[str, bytes]:
    return {f"{path.parent.name}-{path.stem}": parse_hex(path.read_text("utf-8")) for path in VECTORS.glob("*/*.hex")}


def message(kind: bytes, body: bytes = b"") -> bytes:
    return kind + struct.pack(">I", len(body) + 4) + body


def conversations() -> dict[str, bytes]:
    """What clients send, message after message."""
    parameters = b"user\0me\0database\0d\0client_encoding\0UTF8\0\0"
    query = message(b"Q", b"COPY (SELECT 1) TO STDOUT (FORMAT colonnade)\0")
    extended = [
        message(b"P", b"s\0SELECT $1\0" + struct.pack(">HII", 2, 23, 25)),
        message(b"B", b"p\0s\0" + struct.pack(">HhHi1siHh", 1, 1, 2, 1, b"7", -1, 1, 0)),
        message(b"D", b"Pp\0"),
        message(b"E", b"p\0" + struct.pack(">I", 0)),
        message(b"C", b"Ss\0"),
        message(b"H"),
        message(b"S"),
    ]
    copy = [message(b"d", b"1\t2\n"), message(b"c"), message(b"f", b"gave up\0")]
    return {
        "startup": STARTUP + message(b"", b"\0\3\0\0" + parameters) + query + message(b"X"),
        "newer": STARTUP + message(b"", b"\0\3\0\2" + parameters) + message(b"p", b"secret\0"),
        "ssl": STARTUP + message(b"", struct.pack(">I", 80877103)),
        "gssenc": STARTUP + message(b"", struct.pack(">I", 80877104)),
        "cancel": STARTUP + message(b"", struct.pack(">IiI", 80877102, 7, 9)),
        "simple": READY + query + message(b"X"),
        "extended": READY + b"".join(extended),
        "copy": READY + b"".join(copy),
        "call": READY + message(b"F", struct.pack(">IHHH", 1, 0, 0, 0)),
    }


def answers(streams: dict[str, bytes]) -> dict[str, bytes]:
    """What servers send, from the answer to the start-up message on."""
    welcome = [
        message(b"R", struct.pack(">I", 0)),
        message(b"S", b"colonnade\x001\0"),
        message(b"S", b"server_version\x0015.0\0"),
        message(b"K", struct.pack(">II", 7, 9)),
        message(b"Z", b"I"),
    ]
    error = message(b"E", b"SERROR\0C57014\0Mcancelled\0Htry again\0\0") + message(b"Z", b"I")
    found = {
        "password": message(b"R", struct.pack(">I", 10) + b"SCRAM-SHA-256\0\0"),
        "error": b"".join(welcome) + error,
    }
    for name, stream in streams.items():
        parts, rows = [], 0
        while stream:
            length = struct.unpack_from("<Q", stream, 8)[0]
            rows += struct.unpack_from("<I", stream, 24)[0]
            parts.append(message(b"d", stream[:length]))
            stream = stream[length:]
        copied = [
            message(b"H", struct.pack(">BHH", 1, 1, 1)),
            *parts,
            message(b"c"),
            message(b"C", b"COPY %d\0" % rows),
        ]
        found[name] = b"".join([*welcome, *copied, message(b"Z", b"I")])
    return found


def rows_of_postgres() -> bytes:
    """What a PostgreSQL without the extension sends: the answer to the probe, and that to two statements."""
    welcome = [
        message(b"R", struct.pack(">I", 0)),
        message(b"S", b"server_version\x0015.0\0"),
        message(b"K", struct.pack(">II", 7, 9)),
        message(b"Z", b"I"),
    ]
    probed = [described({"quote_ident": (25, -1)}), message(b"C", b"SELECT 0\0"), message(b"Z", b"I")]
    types = {
        "b": (16, b"\1"),
        "i": (23, struct.pack(">i", -7)),
        "l": (20, struct.pack(">q", 1 << 40)),
        "d": (701, struct.pack(">d", 0.5)),
        "t": (25, "käse".encode()),
        "n": (1700, struct.pack(">hhHhhh", 2, 0, 0x4000, 2, 12, 3400)),
        "day": (1082, struct.pack(">i", 8000)),
        "at": (1184, struct.pack(">q", 10**15)),
        "v": (1186, struct.pack(">qii", 5, 6, 7)),
        "x": (17, b"\0\xff"),
        "u": (2950, bytes(range(16))),
    }
    typmods = {"n": (12 << 16 | 2) + 4}
    columns = {name: (oid, typmods.get(name, -1)) for name, (oid, _) in types.items()}
    values = [struct.pack(">i", len(value)) + value for _, value in types.values()]
    count = struct.pack(">H", len(types))
    row = message(b"D", count + b"".join(values))
    nulls = message(b"D", count + struct.pack(">i", -1) * len(types))
    statement = [
        message(b"1") + message(b"t", struct.pack(">H", 0)) + described(columns),
        message(b"2") + row + nulls + row,
        message(b"C", b"SELECT 3\0") + message(b"Z", b"I"),
    ]
    return b"".join([*welcome, *probed, *statement, *statement])


def described(columns: dict[str, tuple[int, int]]) -> bytes:
    """RowDescription, of names with types and typmods."""
    fields = [
        name.encode() + b"\0" + struct.pack(">IHIhih", 0, 0, oid, -1, typmod, 0)
        for name, (oid, typmod) in columns.items()
    ]
    return message(b"T", struct.pack(">H", len(columns)) + b"".join(fields))


class Packets:
    """What a server of MySQL's sends: packets, numbered from the client's last one on."""

    DEPRECATE_EOF = 1 << 24

    def __init__(self, capabilities: int = 0) -> None:
        #: The 4.1 protocol, transactions, SECURE_CONNECTION and PLUGIN_AUTH are always there.
        self.capabilities = capabilities | 0x8A201 | 0x80000
        self.sent = b""
        self.number = 0

    def send(self, body: bytes) -> None:
        self.sent += struct.pack("<I", len(body))[:3] + bytes([self.number]) + body
        self.number += 1

    def greet(self) -> None:
        low, high = self.capabilities & 0xFFFF, self.capabilities >> 16
        self.send(
            b"\x0a10.11.6-MariaDB\0"
            + struct.pack("<I8sBHBHHB", 7, b"salt" * 2, 0, low, 45, 2, high, 21)
            + bytes(10)
            + b"salt" * 3
            + b"\0mysql_native_password\0"
        )
        self.number = 2

    def done(self) -> None:
        self.send(b"\0\0\0" + struct.pack("<HH", 2, 0))
        self.number = 1

    def end(self) -> None:
        """Of columns or of rows."""
        body = (
            b"\0\0" + struct.pack("<HH", 2, 0) if self.capabilities & self.DEPRECATE_EOF else struct.pack("<HH", 0, 2)
        )
        self.send(b"\xfe" + body)

    def columns(self, types: dict[str, tuple[int, int, int, int]]) -> None:
        """Of a type, flags, a length and decimals each."""
        for name, (kind, flags, length, decimals) in types.items():
            texts = (b"def", b"", b"", b"", name.encode(), b"")
            binary = kind in (252, 254) and flags & 0x80
            fixed = struct.pack("<BHIBHB", 12, 63 if binary else 45, length, kind, flags, decimals)
            self.send(b"".join(bytes([len(text)]) + text for text in texts) + fixed + b"\0\0")
        if not self.capabilities & self.DEPRECATE_EOF:
            self.end()


def rows_of_mysql(capabilities: int) -> bytes:
    """A login, this client's own statements, and two of the user's."""
    server = Packets(capabilities)
    server.greet()
    server.done()
    server.done()
    server.send(b"\3")
    server.columns({"@@version": (253, 0, 99, 0), "comment": (253, 0, 99, 0), "id": (8, 0, 20, 0)})
    server.send(b"\x0f10.11.6-MariaDB\6Debian\x017")
    server.end()
    types = {
        "tiny": (1, 0, 4, 0, b"\xff"),
        "year": (13, 32, 4, 0, struct.pack("<H", 2024)),
        "i": (3, 0, 11, 0, struct.pack("<i", -7)),
        "l": (8, 32, 20, 0, struct.pack("<Q", 1 << 63)),
        "d": (5, 0, 22, 31, struct.pack("<d", 0.5)),
        "n": (246, 0, 7, 2, b"\x06-12.34"),
        "t": (253, 0, 400, 0, b"\x05" + "käse".encode()),
        "x": (252, 0x80, 400, 0, b"\2\0\xff"),
        "day": (10, 0x80, 10, 0, struct.pack("<BHBB", 4, 2024, 2, 29)),
        "at": (12, 0x80, 26, 6, struct.pack("<BHBBBBBI", 11, 2024, 2, 29, 23, 59, 58, 999999)),
        "span": (11, 0x80, 17, 6, struct.pack("<BBIBBBI", 12, 1, 34, 22, 59, 59, 1)),
        "bit": (16, 32, 9, 0, b"\2\1\xff"),
    }
    columns = {name: kind[:4] for name, kind in types.items()}
    nulls = (len(types) + 9) // 8
    for _ in range(2):
        server.number = 1
        server.send(b"\0" + struct.pack("<IHHBH", 1, len(types), 0, 0, 0))
        server.columns(columns)
        server.number = 1
        server.send(bytes([len(types)]))
        server.columns(columns)
        server.send(bytes(1 + nulls) + b"".join(value for *_, value in types.values()))
        server.send(b"\0" + b"\xff" * nulls)
        server.end()
    return server.sent


def write_of_mysql() -> bytes:
    """A login, and the answers to a write into a table by INSERT."""
    server = Packets(Packets.DEPRECATE_EOF)
    server.greet()
    server.done()
    server.done()

    def answer(columns: list[str], *values: str) -> None:
        server.number = 1
        server.send(bytes([len(columns)]))
        server.columns(dict.fromkeys(columns, (253, 0, 400, 0)))
        for row in range(0, len(values), len(columns)):
            texts = (value.encode() for value in values[row : row + len(columns)])
            server.send(b"".join(bytes([len(text)]) + text for text in texts))
        server.end()

    answer(["version", "comment", "id"], "10.11.6-MariaDB", "Debian", "7")
    modes = ("STRICT_ALL_TABLES", "utf8mb4", "utf8mb4", "utf8mb4_bin", "30", "1000", "0", "1", "64")
    answer([f"s{number}" for number in range(14)], *modes, "+00:00", "0", "16777216", "0", "shop")
    server.number = 1
    server.done()
    answer(["Table", "Create Table"], "t", "CREATE TABLE `t` (`a` bigint)")
    answer(["TABLE_NAME", "ENGINE", "kind"], "t", "InnoDB", "1")
    answer(["TRANSACTIONS"], "YES")
    names = ["Field", "Type", "Collation", "Null", "Extra"]
    found = ("a", "bigint(20)", "", "YES", "", "b", "varchar(9)", "utf8mb4_bin", "YES", "")
    answer(names, *found)
    server.number = 1
    server.done()
    server.number = 1
    server.send(b"\0\2\0" + struct.pack("<HH", 3, 0))
    answer(names, *found)
    for _ in range(2):
        server.number = 1
        server.done()
    return server.sent


def answers_of_mysql() -> dict[str, bytes]:
    refused = Packets()
    refused.greet()
    refused.send(b"\xff" + struct.pack("<H", 1045) + b"#28000Access denied")
    switched = Packets()
    switched.greet()
    switched.send(b"\xfecaching_sha2_password\0" + b"salt" * 5 + b"\0")
    switched.number += 1
    switched.send(b"\1\4")
    return {
        "rows": rows_of_mysql(0),
        "rows-deprecate-eof": rows_of_mysql(Packets.DEPRECATE_EOF),
        "write": write_of_mysql(),
        "refused": refused.sent,
        "switched": switched.sent,
        "full": b"\x17\0\0\0\xff\x10\x04Too many connections",
    }


def sessions(conversations: dict[str, bytes]) -> dict[str, bytes]:
    """Conversations with a server that lets everybody in, and logins at one that does not (the target `session`)."""
    found = {}
    for name, conversation in conversations.items():
        for first in (2, 3) if conversation[:1] == STARTUP else (0, 1):
            found[f"{name}-{first}"] = bytes([first]) + conversation[1:]
    first = b"SCRAM-SHA-256\0\0\0\0\x10n,,n=,r=abcdefgh"
    last = b"c=biws,r=abcdefgh,p=" + b"A" * 43 + b"="
    found["login"] = b"\0" + b"".join(b"p" + (len(body) + 4).to_bytes(4, "big") + body for body in (first, last))
    return found


def copied(streams: dict[str, bytes]) -> dict[str, bytes]:
    """Data for COPY … FROM STDIN, for the target `copy_in`. Before them stand the number of the format, plus seven
    times that of the columns, and the length of the pieces."""
    fields = [b"\0\0\0\x08" + struct.pack(">q", 7), b"\0\0\0\2hi"]
    rows = [struct.pack(">h", 2) + b"".join(fields), struct.pack(">hii", 2, -1, -1)]
    binary = b"PGCOPY\n\xff\r\n\0" + bytes(8) + b"".join(rows)
    times = b"t\t1.25\t2024-02-29\t2024-02-29 01:02:03.5\t2024-02-29 01:02:03+02\t1 day\t"
    found = {
        "text": b"\0\3" + b"1\ta\\tb\n\\N\t\\N\n2\t\\x41\\101\\\nx\n\\.\n",
        "text-header": b"\1\1" + b"a|b\n1|x\r\n2|y\n",
        "text-lists": b"\7\5" + b'\\\\x00ff\t{1,NULL}\t{{"a","b"},{c,d}}\n',
        "text-times": b"\16\7" + times + b"00112233-4455-6677-8899-aabbccddeeff\t1e300\n",
        "csv": b"\2\2" + b'1,"a ""b""\nc"\n2,\n,""\n',
        "csv-escape": b"\3\1" + b"a;b\n1;'it\\'s'\n",
        "binary": b"\4\3" + binary + b"\xff\xff",
        "binary-unfinished": b"\4\1" + binary,
        "nothing": b"\25\1" + b"\n\n",
    }
    return found | {f"colonnade-{name}": b"\6\1" + stream for name, stream in streams.items()}


def noise() -> dict[str, bytes]:
    """Long inputs to start with; libFuzzer would take hours to grow them."""
    source = random.Random(1)
    return {f"noise-{number}": source.randbytes(source.randint(40, 1500)) for number in range(200)}


def answers_of_functions() -> dict[str, bytes]:
    """Answers of a worker for functions: eight bytes that choose the types, the head, the words, and the values."""
    place = 262144

    def answer(choice: bytes, rows: int, nodes: list[tuple[int, ...]], values: bytes) -> bytes:
        head = struct.pack("<8Q", 1, rows, 6 * len(nodes), 0, 0, 0, 0, 0)
        words = b"".join(struct.pack("<6Q", *node) for node in nodes)
        return choice.ljust(8, b"\0") + head + words.ljust(1024, b"\0") + bytes(256 + 64) + values

    offsets = struct.pack("<3q", 0, 1, 3)
    texts = answer(b"\6\0\2", 2, [(2, 0, place, 24, place + 24, 3)], offsets + b"abc")
    numbers = answer(b"\4\0\2", 2, [(2, place + 16, place, 16, place, 0)], bytes(16) + b"\1")
    lists = answer(b"\x0e\1\2", 2, [(2, 0, place, 24, place, 0), (3, 0, place + 24, 3, place, 0)], offsets + b"abc")
    # Eighteen columns with one buffer in which all are copied: more and less than the ring of 4 MiB together.
    overlapping = {
        f"overlapping-{rows}": answer(b"\0\0\xff\x11", rows, [(rows, 0, place, rows, place, 0)] * 18, b"")
        for rows in (230_000, 240_000)
    }
    return {"texts": texts, "numbers": numbers, "lists": lists, **overlapping}


def statements() -> dict[str, bytes]:
    """Decisions for the grammar of the target `statement`, and texts with decisions before them."""
    source = random.Random(2)
    found = {
        f"grammar-{number}": bytes([number % 3]) + source.randbytes(source.randint(4, 80)) for number in range(500)
    }
    texts = (
        "select e'\\'' || $a$;$a$ from \"t\" -- x\n",
        "explain (analyze) commit",
        "with a as (copy t to 'x') select 1",
        "set /**/ global TimeZone = 'UTC'",
        "select `read_text` /* ( */ ('x')",
        "\u200bbegin",
        "prepare a as insert into t values (1)",
    )
    for number, text in enumerate(texts):
        found |= {
            f"text-{number}-{user}": bytes([3, 4 + user]) + source.randbytes(8) + text.encode() for user in (0, 1)
        }
    return found


def main() -> None:
    seeds_of = {"stream": vectors(), "columns": vectors(), "round_trip": noise(), "buffers": noise()}
    seeds_of["function"] = answers_of_functions()
    # The first byte is the size of the pieces, and whether the checksums are repaired.
    seeds_of["receive"] = {
        f"{name}-{choice}": bytes([choice]) + seed for name, seed in vectors().items() for choice in (254, 255)
    }
    seeds_of["frontend"] = conversations()
    seeds_of["session"] = sessions(seeds_of["frontend"])
    seeds_of["backend"] = answers({name: seed for name, seed in vectors().items() if name.startswith("good-")})
    seeds_of["backend"]["rows"] = rows_of_postgres()
    seeds_of["copy_in"] = copied(seeds_of["stream"])
    seeds_of["mysql"] = answers_of_mysql()
    seeds_of["statement"] = statements()
    # The first byte is the kind of the server, a zero the honest message.
    seeds_of["client_session"] = {
        f"{name}-{kind}": bytes([kind]) + 60 * what
        for kind in (0, 1)
        for name, what in (
            ("honest", b"\0"),
            ("twice", b"\0\0\0\xd2"),
            ("flipped", b"\0\0\0\0\xe6\7\1"),
            ("changed", b"\0\0\xf5\1\7\1\3"),
        )
    }
    for target, seeds in seeds_of.items():
        folder = HERE / "corpus" / target
        folder.mkdir(parents=True, exist_ok=True)
        for name, seed in seeds.items():
            (folder / name).write_bytes(seed)


if __name__ == "__main__":
    main()
