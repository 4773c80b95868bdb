"""Parts of bad nodes."""

from collections.abc import Callable

from .body import Body
from .cases import field
from .nodes import As, write_integers

PLAIN, CONSTANT, PACKED, DELTA, DICTIONARY, LENGTHS, ALP, FSST, SPLIT = range(9)
Bad = tuple[str, str, str, list, int, bytes]  # name, kind, what is wrong, fields, rows, the chunk's body

INT8, INT32, INT64, BOOL = (field("v", name) for name in ("int8", "int32", "int64", "bool"))
UTF8, LARGE, BINARY, DOUBLE = (field("v", name) for name in ("utf8", "large_utf8", "binary", "float64"))
LIST = field("v", "list", children=[INT32])
STRUCT = field("v", "struct", children=[INT32])
WIDE = field("v", "decimal128", precision=38, scale=0)
DAYS = field("v", "interval_day_time")


def column(build: Callable[[Body], object]) -> bytes:
    body = Body().u32(8).align(8)
    build(body)
    return bytes(body.align(8))


def node(encoding: int, nulls: int = 0, parameter: int = 0, zero: int = 0, aux: int = 0) -> Body:
    """The beginning of a body with one column: everything up to the end of that column's node head."""
    return Body().u32(8).align(8).u8(encoding, nulls, parameter, zero).u32(aux)


def done(body: Body) -> bytes:
    return bytes(body.align(8))


def integers(body: Body, numbers: list[int], width: int = 4, how: As | None = None) -> Body:
    write_integers(body, numbers, width, how or As("packed"))
    return body
