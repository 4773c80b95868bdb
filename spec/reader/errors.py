"""Every kind of error in a stream, by name."""

from enum import Enum


class Kind(Enum):
    """The kind of error; the value is the name in the `# error:` line of a bad vector."""

    MAGIC = "magic"
    MESSAGE_KIND = "message kind"
    CODEC = "codec"
    LENGTH = "length"  # an impossible message or body length
    CHECKSUM = "checksum"
    ZERO = "zero"  # a field called zero, a flag without a meaning or padding is not zero
    TRUNCATED = "truncated"  # the stream ends too early: within a message, or before its end message
    TRAILING = "trailing"  # bytes after the end message
    ORDER = "order"  # messages in an order other than schema, chunks, end
    SEQUENCE = "sequence"
    TOTALS = "totals"  # the end message's rows, chunks or checksum
    DECOMPRESS = "decompress"  # LZ4 or Zstandard data that does not decode to exactly the body
    BOUNDS = "bounds"  # an item extends beyond the part that contains it
    LEFTOVER = "leftover"  # a part has bytes that are not used
    TYPE = "type"  # a type that is unknown, or has invalid parameters or children
    NESTING = "nesting"
    UTF8 = "utf8"
    DIRECTORY = "directory"
    ENCODING = "encoding"  # unknown, or not allowed for this layout
    NULLS = "nulls"  # a NULL layout that is unknown, or not allowed for this node
    NULL_COUNT = "null count"
    SAME = "same"  # "same bitmap as column i" with an invalid i
    PARAMETER = "parameter"
    COUNT = "count"  # a constant of no values; a dictionary of no entries, or of more than it has values
    WIDTH = "width"
    CODE = "code"  # a dictionary code or index beyond the entries
    OFFSETS = "offsets"
    LENGTHS = "lengths"  # lengths with a wrong sum
    ALP = "alp"
    EXCEPTION = "exception"
    FSST = "fsst"
    LIMIT = "limit"
    UNAVAILABLE = "unavailable"  # not an error of the stream: a library is missing


class FormatError(Exception):
    """The bytes are not a Colonnade stream, or not a whole one."""

    def __init__(self, kind: Kind, where: str, problem: str):
        super().__init__(f"{where}: {problem}")
        self.kind = kind
        self.where = where
        self.problem = problem
