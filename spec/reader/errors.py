"""Everything that can be wrong with a stream, by name."""

from enum import Enum


class Kind(Enum):
    """What is wrong; the value is the name in the `# error:` line of a bad vector."""

    MAGIC = "magic"
    MESSAGE_KIND = "message kind"
    CODEC = "codec"
    LENGTH = "length"  # a message or body length that cannot be
    CHECKSUM = "checksum"
    ZERO = "zero"  # a field called zero, a flag without a meaning or padding is not zero
    TRUNCATED = "truncated"  # the stream stops early: in a message, or before its end message
    TRAILING = "trailing"  # bytes after the end message
    ORDER = "order"  # messages in an order other than schema, chunks, end
    SEQUENCE = "sequence"
    TOTALS = "totals"  # the end message's rows, chunks or checksum
    DECOMPRESS = "decompress"  # LZ4 or Zstandard data that do not decode to exactly the body
    BOUNDS = "bounds"  # something reaches beyond the part it lies in
    LEFTOVER = "leftover"  # a part is not used up to its last byte
    TYPE = "type"  # a type that is unknown, or has parameters or children it cannot have
    NESTING = "nesting"
    UTF8 = "utf8"
    DIRECTORY = "directory"
    ENCODING = "encoding"  # unknown, or not for this layout
    NULLS = "nulls"  # a NULL layout that is unknown, or not for this node
    NULL_COUNT = "null count"
    SAME = "same"  # "same bitmap as column i", where i cannot be
    PARAMETER = "parameter"
    COUNT = "count"  # a constant of no values; a dictionary of no entries, or of more than it has values
    WIDTH = "width"
    CODE = "code"  # a dictionary code or index beyond the entries
    OFFSETS = "offsets"
    LENGTHS = "lengths"  # lengths that do not add up
    ALP = "alp"
    EXCEPTION = "exception"
    FSST = "fsst"
    LIMIT = "limit"
    UNAVAILABLE = "unavailable"  # not the stream's fault: a library is missing


class FormatError(Exception):
    """A stream that is not a Colonnade stream, or not a whole one."""

    def __init__(self, kind: Kind, where: str, problem: str):
        super().__init__(f"{where}: {problem}")
        self.kind = kind
        self.where = where
        self.problem = problem
