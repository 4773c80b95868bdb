"""The codecs of FORMAT §3: none, one LZ4 block, one Zstandard frame. The LZ4 decoder follows lz4_Block_format.md."""

from .errors import FormatError, Kind

NONE, LZ4, ZSTD = 0, 1, 2
ZSTD_MAX_WINDOW_LOG = 27
ZSTD_MAGIC = bytes.fromhex("28b52ffd")

try:
    from compression import zstd as std_zstd  # Python 3.14
except ImportError:
    std_zstd = None
try:
    import zstandard
except ImportError:
    zstandard = None


def decompress(codec: int, stored: bytes, length: int, where: str) -> bytes:
    """Decodes `stored` to exactly `length` bytes."""
    if codec == NONE:
        body = stored
    elif codec == LZ4:
        body = lz4_block(stored, length, where)
    else:
        body = zstd_frame(stored, length, where)
    if len(body) != length:
        raise FormatError(Kind.DECOMPRESS, where, f"the body decodes to {len(body)} bytes, not {length}")
    return body


def lz4_block(stored: bytes, length: int, where: str) -> bytes:
    out = bytearray()
    at = 0

    def bad(problem: str) -> FormatError:
        return FormatError(Kind.DECOMPRESS, where, f"LZ4: {problem} at byte {at}")

    def run_length(nibble: int) -> int:
        nonlocal at
        total = nibble
        while nibble == 15:
            if at >= len(stored):
                raise bad("a length is cut off")
            total += stored[at]
            at += 1
            if stored[at - 1] != 255:
                break
        return total

    while True:
        if at >= len(stored):
            raise bad("the last sequence is missing")
        token = stored[at]
        at += 1
        literals = run_length(token >> 4)
        if literals > len(stored) - at or literals > length - len(out):
            raise bad("literals reach beyond the end")
        out += stored[at : at + literals]
        at += literals
        if at == len(stored):
            if token & 15:
                raise bad("the last sequence has a match")
            return bytes(out)
        if len(stored) - at < 2:
            raise bad("a match offset is cut off")
        distance = stored[at] | stored[at + 1] << 8
        at += 2
        if not 0 < distance <= len(out):
            raise bad(f"match offset {distance} after {len(out)} bytes")
        match = run_length(token & 15) + 4
        if match > length - len(out):
            raise bad("a match reaches beyond the end")
        start = len(out) - distance
        pattern = bytes(out[start:])
        out += (pattern * (match // distance + 1))[:match]


def zstd_frame(stored: bytes, length: int, where: str) -> bytes:
    def bad(problem: object) -> FormatError:
        return FormatError(Kind.DECOMPRESS, where, f"Zstandard: {problem}")

    if stored[:4] != ZSTD_MAGIC:
        raise bad("the frame's magic is missing")
    if std_zstd is not None:
        options = {std_zstd.DecompressionParameter.window_log_max: ZSTD_MAX_WINDOW_LOG}
        decoder = std_zstd.ZstdDecompressor(options=options)
        try:
            body = decoder.decompress(stored, max_length=length + 1)
            if not decoder.eof and len(body) <= length:
                body += decoder.decompress(b"", max_length=length + 1 - len(body))
        except std_zstd.ZstdError as error:
            raise bad(error) from None
        if len(body) > length or not decoder.eof or decoder.unused_data:
            raise bad("the frame is longer or shorter than it should be")
        return body
    if zstandard is None:
        problem = "Zstandard needs Python 3.14 or the package zstandard: pip install zstandard"
        raise FormatError(Kind.UNAVAILABLE, where, problem)
    decoder = zstandard.ZstdDecompressor(max_window_size=1 << ZSTD_MAX_WINDOW_LOG).decompressobj()
    try:
        declared = zstandard.get_frame_parameters(stored).content_size
        if declared != zstandard.CONTENTSIZE_UNKNOWN and declared != length:
            raise bad(f"the frame declares {declared} bytes, not {length}")
        body = decoder.decompress(stored)
    except zstandard.ZstdError as error:
        raise bad(error) from None
    if not decoder.eof or decoder.unused_data:
        raise bad("the frame is longer or shorter than it should be")
    return body
