"""Hexadecimal text: reading an annotated `.hex`, and writing one from a stream."""

from .errors import FormatError
from .stream import HEADER, Limits, Stream, read_stream

BYTES_A_LINE = 32
HEADER_FIELDS = [(4, "magic"), (1, "kind"), (1, "codec"), (2, "zero"), (8, "length"), (8, "checksum")]
HEADER_FIELDS += [(4, "rows"), (4, "sequence"), (8, "body length"), (24, "zero")]


def parse_hex(text: str) -> bytes:
    return bytes.fromhex("".join(line.split("#", 1)[0] for line in text.splitlines()))


def lines_of(data: bytes, label: str, prefix: str = "") -> list[str]:
    """The bytes, with `label` beside the first line."""
    rows = [data[i : i + BYTES_A_LINE] for i in range(0, len(data), BYTES_A_LINE)] or [b""]
    first = f"{prefix}{rows[0].hex(' '):<24} # {label}"
    return [first, *(f"{prefix}{row.hex(' ')}" for row in rows[1:])]


def annotate(stream: Stream, data: bytes) -> str:
    """A stream as annotated bytes: each header field, each node by its name, each buffer."""
    lines = []
    for number, message in enumerate(stream.messages):
        lines += ["", f"# --- message {number}: {message.where.split('(')[-1].rstrip(')')} ---"]
        at = message.start
        for size, label in HEADER_FIELDS:
            raw = data[at : at + size]
            shown = "" if label in ("zero", "magic") else f" = {int.from_bytes(raw, 'little')}"
            lines += lines_of(raw, label + shown)
            at += size
        prefix = ""
        if message.codec:
            stored = data[at : message.start + message.length]
            lines += lines_of(stored, f"the body, {['', 'LZ4', 'Zstandard'][message.codec]}; decoded, it is:")
            prefix = "#   "
        lines += body_lines(message.body, message.trace, prefix)
    return "\n".join(lines[1:]) + "\n"


def body_lines(body: bytes, trace: list, prefix: str) -> list[str]:
    lines = []
    at = 0
    for start, size, text in trace:
        if size == 0:
            lines.append(f"{prefix}{'':<24} # {text}" if text.startswith("^") else f"{prefix}# {start}: {text}")
            continue
        if start != at:  # impossible in a stream that was read to its end
            lines += lines_of(body[at:start], "?", prefix)
        lines += lines_of(body[start : start + size], text, prefix)
        at = start + size
    if at < len(body):
        lines += lines_of(body[at:], "?", prefix)
    return lines


def annotate_raw(data: bytes) -> str:
    """The same for a stream that may be damaged: then plain bytes, with the header's fields of every message found."""
    try:
        text = annotate(read_stream(data), data)
    except FormatError:
        lines = []
        for start in range(0, len(data), HEADER):
            lines += lines_of(data[start : start + HEADER], f"byte {start}")
        text = "\n".join(lines) + "\n"
    if parse_hex(text) != data:
        raise AssertionError("the annotation does not reproduce the stream")
    return text


__all__ = ["Limits", "annotate", "annotate_raw", "parse_hex"]
