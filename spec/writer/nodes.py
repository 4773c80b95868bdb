"""Nodes (FORMAT §6), each encoded as its `As` states."""

import struct
from dataclasses import dataclass
from dataclasses import field as default

from .body import Body
from .values import OFFSETS, PARTS, WIDTHS, is_bytes, to_bytes, width_of

CODES = {"plain": 0, "constant": 1, "packed": 2, "delta": 3, "dictionary": 4}
CODES |= {"lengths": 5, "alp": 6, "fsst": 7, "split": 8}
NULLS = {"none": 0, "all": 1, "bitmap": 2, "sparse": 3, "same": 4, "same sparse": 5}


@dataclass
class As:
    """How to encode a node, and the nodes inside it (`inner`: by name; the default is plain)."""

    encoding: str = "plain"
    nulls: str = "none"
    of: int = 0  # the column that "same" names
    inner: dict = default(default_factory=dict)
    children: list = default(default_factory=list)  # of a nested type
    exponents: tuple = (0, 0)  # alp
    symbols: tuple = ()  # fsst
    parts: int = 0  # split
    under_null: object = None  # the value written under a NULL in a dense node; the type's zero if None

    def child(self, i: int) -> "As":
        return self.children[i] if self.children else As()


def head(body: Body, how: As, aux: int = 0, parameter: int = 0) -> None:
    body.u8(CODES[how.encoding], NULLS[how.nulls], parameter, 0).u32(aux)


def bitmap(bits: list[bool]) -> bytes:
    return sum(bool(bit) << i for i, bit in enumerate(bits)).to_bytes((len(bits) + 7) // 8, "little")


def write_node(body: Body, field: dict, values: list, how: As) -> None:
    """A node of a field from canonical JSON values."""
    valid = [value is not None for value in values]
    parameter = 0
    name = field["type"]
    if how.encoding == "fsst":
        parameter = len(how.symbols)
    elif how.encoding == "split":
        parameter = how.parts or len(PARTS[name])
    elif how.encoding == "constant" and name == "bool":
        parameter = int(next((v for v in values if v is not None), False))
    aux = valid.count(False) if how.nulls in ("bitmap", "sparse") else how.of if how.nulls.startswith("same") else 0
    head(body, how, aux, parameter)
    if how.nulls == "all":
        return
    if how.nulls in ("bitmap", "sparse"):
        body.raw(bitmap(valid)).align(8)
    if how.nulls.endswith("sparse"):
        values = [value for value in values if value is not None]
    elif name not in ("list", "large_list", "map", "fixed_size_list", "struct", "dictionary"):
        filler = how.under_null
        if filler is None and how.encoding == "constant":
            filler = next((v for v in values if v is not None), None)
        values = [filler if value is None else value for value in values]
    write_content(body, field, values, how)
    body.align(8)


def write_content(body: Body, field: dict, values: list, how: As) -> None:
    name = field["type"]
    if name == "bool":
        if how.encoding == "plain":
            body.raw(bitmap([bool(v) for v in values]))
    elif name == "struct":
        for i, child in enumerate(field["children"]):
            write_node(body, child, [None if v is None else v[i] for v in values], how.child(i))
    elif name == "fixed_size_list":
        empty = [None] * field["size"]
        write_node(body, field["children"][0], [x for v in values for x in (v or empty)], how.child(0))
    elif name in ("list", "large_list", "map"):
        write_list(body, field, values, how)
    elif name == "dictionary":
        write_dictionary_type(body, field, values, how)
    else:
        raw = [to_bytes(field, value) for value in values]
        if is_bytes(field):
            write_strings(body, raw, OFFSETS[name], how)
        else:
            write_fixed(body, raw, width_of(field), how, PARTS.get(name))


def write_integers(body: Body, numbers: list[int], width: int, how: As | None) -> None:
    how = how or As()
    head(body, how)
    raw = [(n % (1 << 8 * width)).to_bytes(width, "little") for n in numbers]
    write_fixed(body, raw, width, how)
    body.align(8)


def write_fixed(body: Body, raw: list[bytes], width: int, how: As, parts: tuple | None = None) -> None:
    if how.encoding == "plain":
        body.align(64).raw(b"".join(raw))
    elif how.encoding == "constant":
        body.raw(raw[0])
    elif how.encoding == "packed":
        write_packed(body, [int.from_bytes(v, "little") for v in raw], width)
    elif how.encoding == "delta":
        numbers = [int.from_bytes(v, "little") for v in raw]
        base = numbers[0] - 3 if numbers else 0
        body.raw((base % (1 << 8 * width)).to_bytes(width, "little")).align(8)
        before = [base, *numbers]
        write_packed(body, [(b - a) % (1 << 8 * width) for a, b in zip(before, numbers, strict=False)], width)
    elif how.encoding == "dictionary":
        write_dictionary(body, raw, how, lambda entries, inner: write_fixed(body, entries, width, inner, parts))
    elif how.encoding == "alp":
        write_alp(body, raw, width, how)
    elif how.encoding == "split":
        widths = parts or (8,) * how.parts
        at = 0
        for i, w in enumerate(widths):
            column = [int.from_bytes(v[at : at + w], "little") for v in raw]
            write_integers(body, column, w, how.inner.get(f"part {i}"))
            at += w


def signed(number: int, width: int) -> int:
    return number - (1 << 8 * width) if number >> 8 * width - 1 else number


def write_packed(body: Body, numbers: list[int], width: int) -> None:
    """Each block's reference is its smallest value, signed, so that offsets stay small."""
    blocks = [[signed(n, width) for n in numbers[i : i + 1024]] for i in range(0, len(numbers), 1024)]
    references = [min(block) for block in blocks]
    widths = [(max(block) - low).bit_length() for block, low in zip(blocks, references, strict=True)]
    for low in references:
        body.raw((low % (1 << 8 * width)).to_bytes(width, "little"))
    body.u8(*widths).align(8)
    for block, low, b in zip(blocks, references, widths, strict=True):
        body.raw(pack_block([n - low for n in block], b))


def pack_block(offsets: list[int], b: int) -> bytes:
    if len(offsets) < 1024:
        number = sum(offset << i * b for i, offset in enumerate(offsets))
        return number.to_bytes((len(offsets) * b + 7) // 8, "little")
    if b == 0:
        return b""
    t = next(t for t in (8, 16, 32, 64) if t >= b)
    lanes = 1024 // t
    words = [0] * (lanes * b)
    for lane in range(lanes):
        for row in range(t):
            offset = offsets[(0, 4, 2, 6, 1, 5, 3, 7)[row // 8] * 16 + row % 8 * 128 + lane]
            for bit in range(b):  # bit by bit, as FORMAT describes it
                if offset >> bit & 1:
                    j, k = divmod(row * b + bit, t)
                    words[j * lanes + lane] |= 1 << k
    return b"".join(word.to_bytes(t // 8, "little") for word in words)


def write_dictionary(body: Body, raw: list[bytes], how: As, write_values, total: int | None = None) -> None:
    entries = list(dict.fromkeys(raw)) or [raw[0] if raw else b""]
    body.u32(len(entries), 0)
    if total is not None:
        body.u64(total)
    inner = how.inner.get("values", As())
    head(body, inner, parameter=len(inner.symbols) or inner.parts)
    write_values(entries, inner)
    body.align(8)
    index = {entry: i for i, entry in enumerate(entries)}
    width = 1 if len(entries) <= 256 else 2 if len(entries) <= 65536 else 4
    write_integers(body, [index[v] for v in raw], width, how.inner.get("codes"))


def write_strings(body: Body, raw: list[bytes], offset_width: int, how: As) -> None:
    data = b"".join(raw)
    if how.encoding == "constant":
        body.u64(len(raw[0])).raw(raw[0])
    elif how.encoding == "dictionary":
        write_dictionary(body, raw, how, lambda e, inner: write_strings(body, e, offset_width, inner), len(data))
    elif how.encoding == "plain":
        body.u64(len(data)).align(64).raw(offsets_of([len(v) for v in raw], offset_width)).align(64).raw(data)
    elif how.encoding == "lengths":
        body.u64(len(data))
        write_integers(body, [len(v) for v in raw], 4, how.inner.get("lengths"))
        body.raw(data)
    elif how.encoding == "fsst":
        codes = compress(data, how.symbols)
        body.u64(len(data), len(codes))
        write_integers(body, [len(v) for v in raw], 4, how.inner.get("lengths"))
        body.u8(*(len(s) for s in how.symbols)).raw(b"".join(how.symbols)).align(8).raw(codes)


def compress(data: bytes, symbols: tuple) -> bytes:
    """The longest symbol at each position; a symbol may span two strings."""
    out = bytearray()
    at = 0
    while at < len(data):
        fitting = [i for i, s in enumerate(symbols) if data.startswith(s, at)]
        if fitting:
            best = max(fitting, key=lambda i: len(symbols[i]))
            out.append(best)
            at += len(symbols[best])
        else:
            out += bytes([255, data[at]])
            at += 1
    return bytes(out)


def offsets_of(lengths: list[int], width: int) -> bytes:
    total, out = 0, bytes(width)
    for length in lengths:
        total += length
        out += total.to_bytes(width, "little")
    return out


def write_list(body: Body, field: dict, values: list, how: As) -> None:
    lengths = [len(v or []) for v in values]
    items = [item for v in values for item in (v or [])]
    body.u64(len(items))
    if how.encoding == "plain":
        body.align(64).raw(offsets_of(lengths, OFFSETS[field["type"]])).align(8)
    else:
        write_integers(body, lengths, 4, how.inner.get("lengths"))
    write_node(body, field["children"][0], items, how.child(0))


def write_dictionary_type(body: Body, field: dict, values: list, how: As) -> None:
    """The distinct values in order of appearance. Under a NULL the index is invalid."""
    keys = {}
    for value in values:
        if value is not None:
            keys.setdefault(repr(value), (len(keys), value))
    indices = [how.under_null or 99 if value is None else keys[repr(value)][0] for value in values]
    distinct = [value for _, value in keys.values()]
    body.u64(len(distinct))
    write_integers(body, indices, WIDTHS[field["index"]], how.inner.get("indices"))
    write_node(body, field["children"][0], distinct, how.child(0))


def write_alp(body: Body, raw: list[bytes], width: int, how: As) -> None:
    e, f = how.exponents
    code = "<f" if width == 4 else "<d"

    def rounded(x: float) -> float:
        return struct.unpack(code, struct.pack(code, x))[0]

    numbers, exceptions = [], []
    for i, v in enumerate(raw):
        x = struct.unpack(code, v)[0]
        number = round(x * 10**e / 10**f) if abs(x) < 1e6 else 0
        number = number if -(1 << 8 * width - 1) <= number < 1 << 8 * width - 1 else 0
        decoded = rounded(rounded(rounded(float(number)) * rounded(10.0**f)) * rounded(float(f"1e-{e}")))
        if struct.pack(code, decoded) != v:
            exceptions.append((i, v))
            number = 0
        numbers.append(number)
    body.u8(e, f).u16(0).u32(len(exceptions))
    write_integers(body, numbers, width, how.inner.get("integers"))
    body.u32(*(i for i, _ in exceptions)).align(8).raw(b"".join(v for _, v in exceptions)).align(8)
