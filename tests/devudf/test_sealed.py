"""The format of encrypted files, read by its description."""

from __future__ import annotations

import io
import struct

import pytest
from colonnade_serve._udf_tools.sealed import MAGIC, PART, SealedFile, cipher

pytest.importorskip("cryptography", reason="cryptography is not installed")


@pytest.mark.parametrize("size", [0, 1, PART - 1, PART, PART + 1, 3 * PART, 3 * PART + 7])
@pytest.mark.parametrize("step", [1 << 16, 5 * PART])
def test_each_part_but_the_last_is_whole(size: int, step: int) -> None:
    data = bytes(number % 251 for number in range(4096)) * (size // 4096 + 1)
    data = data[:size]
    seal = cipher(bytes(range(32)))
    file = io.BytesIO()
    with SealedFile(file, seal) as sealed:
        for place in range(0, size, step):
            sealed.write(data[place : place + step])
    written = file.getvalue()
    assert written.startswith(MAGIC)
    prefix, place, found = written[8:16], 16, []
    while place < len(written):
        length, is_last = struct.unpack_from("<IB", written, place)
        number = len(found).to_bytes(4, "big")
        part = written[place + 5 : place + 5 + length]
        found.append(seal.decrypt(prefix + number, part, MAGIC + prefix + number + bytes([is_last])))
        place += 5 + length
        assert is_last == (place == len(written))
    assert b"".join(found) == data
    assert [len(part) for part in found[:-1]] == [PART] * (max(1, -(-size // PART)) - 1)
