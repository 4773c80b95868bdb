"""Integers inside a node: packed (FORMAT §6.4) and delta (§6.5). Here all are unsigned, modulo 2^(8w)."""

from .cursor import Cursor
from .errors import Kind

BLOCK = 1024
ORDER = [0, 4, 2, 6, 1, 5, 3, 7]


def read_packed(c: Cursor, count: int, width: int) -> list[int]:
    blocks = -(-count // BLOCK)
    references = [c.integer(width, f"reference of block {i}") for i in range(blocks)]
    bits = [c.u8(f"bit width of block {i}") for i in range(blocks)]
    if any(b > 8 * width for b in bits):
        raise c.fail(Kind.WIDTH, f"a bit width of {max(bits)} in integers of {8 * width} bits")
    c.align(8)
    values: list[int] = []
    mask = (1 << 8 * width) - 1
    for i, (reference, b) in enumerate(zip(references, bits, strict=True)):
        size = min(BLOCK, count - i * BLOCK)
        if size == BLOCK:
            offsets = full_block(c.take(128 * b, f"block {i}, {b} bits, FastLanes order"), b)
        else:
            offsets = partial_block(c, size, b, f"block {i}, {size} values of {b} bits")
        values += [reference + offset & mask for offset in offsets]
    return values


def full_block(packed: bytes, b: int) -> list[int]:
    if b == 0:
        return [0] * BLOCK
    word_bits = next(t for t in (8, 16, 32, 64) if t >= b)
    lanes = BLOCK // word_bits
    size = word_bits // 8
    offsets = [0] * BLOCK
    mask = (1 << b) - 1
    for lane in range(lanes):
        # Word j of this lane is the word j * lanes + lane of the block. A lane is one number of T * b bits.
        words = [packed[(j * lanes + lane) * size : (j * lanes + lane + 1) * size] for j in range(b)]
        number = int.from_bytes(b"".join(words), "little")
        for row in range(word_bits):
            offsets[ORDER[row // 8] * 16 + row % 8 * 128 + lane] = number >> row * b & mask
    return offsets


def partial_block(c: Cursor, size: int, b: int, label: str) -> list[int]:
    number = int.from_bytes(c.take((size * b + 7) // 8, label), "little")
    if number >> size * b:
        raise c.fail(Kind.ZERO, "unused bits after a block are not zero")
    return [number >> i * b & (1 << b) - 1 for i in range(size)]


def read_delta(c: Cursor, count: int, width: int) -> list[int]:
    value = c.integer(width, "base")
    c.align(8)
    mask = (1 << 8 * width) - 1
    values = []
    for difference in read_packed(c, count, width):
        value = value + difference & mask
        values.append(value)
    return values
