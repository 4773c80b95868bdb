"""A body that is being built."""

import struct


class Body:
    def __init__(self, data: bytes = b""):
        self.data = bytearray(data)

    def __bytes__(self) -> bytes:
        return bytes(self.data)

    def raw(self, data: bytes) -> "Body":
        self.data += data
        return self

    def u8(self, *values: int) -> "Body":
        return self.raw(bytes(values))

    def u16(self, value: int) -> "Body":
        return self.raw(struct.pack("<H", value))

    def u32(self, *values: int) -> "Body":
        return self.raw(b"".join(struct.pack("<I", v) for v in values))

    def u64(self, *values: int) -> "Body":
        return self.raw(b"".join(struct.pack("<Q", v) for v in values))

    def string(self, text: str) -> "Body":
        raw = text.encode("utf-8")
        return self.u32(len(raw)).raw(raw)

    def align(self, to: int) -> "Body":
        return self.raw(bytes(-len(self.data) % to))
