"""The layout bytes: dividing the bytes into strings, and FSST (FORMAT §6.9)."""

from itertools import pairwise

from .cursor import Cursor
from .errors import Kind

ESCAPE = 255
MAX_OFFSET = {4: (1 << 31) - 1, 8: (1 << 63) - 1}


def check_total(c: Cursor, total: int, offset_width: int) -> None:
    """Arrow's offsets are signed."""
    if total > MAX_OFFSET[offset_width]:
        raise c.fail(Kind.LIMIT, f"{total} does not fit an offset of {offset_width} bytes")


def read_offsets(c: Cursor, count: int, width: int, total: int) -> list[int]:
    c.align(64)
    raw = c.take((count + 1) * width, f"{count + 1} offsets")
    offsets = [int.from_bytes(raw[i : i + width], "little") for i in range(0, len(raw), width)]
    if offsets[0] != 0 or offsets[-1] != total or any(a > b for a, b in pairwise(offsets)):
        raise c.fail(Kind.OFFSETS, f"the offsets do not ascend from 0 to {total}")
    return offsets


def offsets_of(c: Cursor, lengths: list[int], total: int) -> list[int]:
    offsets = [0]
    for length in lengths:
        offsets.append(offsets[-1] + length)
    if offsets[-1] != total:
        raise c.fail(Kind.LENGTHS, f"the sum of the lengths is {offsets[-1]}, not {total}")
    return offsets


def cut(data: bytes, offsets: list[int]) -> list[bytes]:
    return [data[a:b] for a, b in pairwise(offsets)]


def check_utf8(c: Cursor, strings: list[bytes]) -> None:
    last = None
    for i, string in enumerate(strings):
        if string is last:  # a constant
            continue
        last = string
        try:
            string.decode("utf-8")
        except UnicodeDecodeError as error:
            raise c.fail(Kind.UTF8, f"value {i} is not UTF-8: {error.reason}") from None


def read_symbols(c: Cursor, count: int) -> list[bytes]:
    lengths = [c.u8(f"length of symbol {i}") for i in range(count)]
    if any(not 1 <= length <= 8 for length in lengths):
        raise c.fail(Kind.FSST, "a symbol whose length is not 1 to 8")
    symbols = [c.take(length, f"symbol {i}") for i, length in enumerate(lengths)]
    c.align(8)
    return symbols


def expand(c: Cursor, codes: bytes, symbols: list[bytes], total: int) -> bytes:
    out = bytearray()
    at = 0
    while at < len(codes):
        code = codes[at]
        at += 1
        if code < len(symbols):
            out += symbols[code]
        elif code != ESCAPE:
            raise c.fail(Kind.FSST, f"code {code} with {len(symbols)} symbols")
        elif at == len(codes):
            raise c.fail(Kind.FSST, "an escape at the end")
        else:
            out.append(codes[at])
            at += 1
        if len(out) > total:
            break
    if len(out) != total:
        raise c.fail(Kind.FSST, f"the codes do not represent {total} bytes")
    return bytes(out)
