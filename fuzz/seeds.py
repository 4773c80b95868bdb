"""Makes the fuzz targets' seed corpora, fuzz/corpus/TARGET/*: the vectors of the specification as raw bytes, a client's
messages, and noise for the targets that make columns of it. What a fuzzer has added there stays. `make fuzz` runs it;
nothing but Python is needed."""

import random
import struct
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "spec"))

from reader.annotate import parse_hex  # noqa: E402

VECTORS = HERE.parent / "spec" / "vectors"
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


def noise() -> dict[str, bytes]:
    """Long inputs to start with; libFuzzer would take hours to grow them."""
    source = random.Random(1)
    return {f"noise-{number}": source.randbytes(source.randint(40, 1500)) for number in range(200)}


def main() -> None:
    seeds_of = {"stream": vectors(), "columns": vectors(), "round_trip": noise(), "buffers": noise()}
    seeds_of["frontend"] = conversations()
    seeds_of["backend"] = answers({name: seed for name, seed in vectors().items() if name.startswith("good-")})
    for target, seeds in seeds_of.items():
        folder = HERE / "corpus" / target
        folder.mkdir(parents=True, exist_ok=True)
        for name, seed in seeds.items():
            (folder / name).write_bytes(seed)


if __name__ == "__main__":
    main()
