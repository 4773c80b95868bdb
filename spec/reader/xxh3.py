"""XXH3_64bits with a seed, from the public specification (xxHash, doc/xxhash_spec.md)."""

import struct

M64 = (1 << 64) - 1
P32_1, P32_2, P32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
P64_1, P64_2, P64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
P64_4, P64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
MX1, MX2 = 0x165667919E3779F9, 0x9FB21C651E98DF25

SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8a8"
    "fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb17"
    "0ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
STRIPE = 64
STRIPES_A_BLOCK = (len(SECRET) - STRIPE) // 8


def u32(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "little")


def u64(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "little")


def avalanche(h: int) -> int:
    h ^= h >> 37
    h = h * MX1 & M64
    return h ^ h >> 32


def avalanche64(h: int) -> int:
    """The finalizer of XXH64, which is used for the shortest inputs."""
    h ^= h >> 33
    h = h * P64_2 & M64
    h ^= h >> 29
    h = h * P64_3 & M64
    return h ^ h >> 32


def fold(a: int, b: int) -> int:
    product = a * b
    return (product & M64) ^ (product >> 64)


def rotl(h: int, bits: int) -> int:
    return (h << bits | h >> 64 - bits) & M64


def xxh3_64(data: bytes, seed: int = 0) -> int:
    length = len(data)
    if length <= 16:
        return hash_to_16(data, length, seed)
    if length <= 128:
        return hash_to_128(data, length, seed)
    if length <= 240:
        return hash_to_240(data, length, seed)
    return hash_long(data, length, seed)


def hash_to_16(data: bytes, length: int, seed: int) -> int:
    if length > 8:
        low = u64(data, 0) ^ ((u64(SECRET, 24) ^ u64(SECRET, 32)) + seed & M64)
        high = u64(data, length - 8) ^ ((u64(SECRET, 40) ^ u64(SECRET, 48)) - seed & M64)
        swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
        return avalanche(length + swapped + high + fold(low, high) & M64)
    if length >= 4:
        seed ^= int.from_bytes((seed & 0xFFFFFFFF).to_bytes(4, "little"), "big") << 32
        joined = u32(data, length - 4) | u32(data, 0) << 32
        h = joined ^ ((u64(SECRET, 8) ^ u64(SECRET, 16)) - seed & M64)
        h ^= rotl(h, 49) ^ rotl(h, 24)
        h = h * MX2 & M64
        h ^= (h >> 35) + length
        h = h * MX2 & M64
        return h ^ h >> 28
    if length:
        joined = data[length - 1] | length << 8 | data[0] << 16 | data[length >> 1] << 24
        return avalanche64(joined ^ ((u32(SECRET, 0) ^ u32(SECRET, 4)) + seed & M64))
    return avalanche64(seed ^ u64(SECRET, 56) ^ u64(SECRET, 64))


def mix16(data: bytes, at: int, secret_at: int, seed: int) -> int:
    low = u64(data, at) ^ (u64(SECRET, secret_at) + seed & M64)
    return fold(low, u64(data, at + 8) ^ (u64(SECRET, secret_at + 8) - seed & M64))


def hash_to_128(data: bytes, length: int, seed: int) -> int:
    h = length * P64_1
    for i in range((length - 1) // 32, -1, -1):
        h += mix16(data, i * 16, i * 32, seed) + mix16(data, length - 16 * (i + 1), i * 32 + 16, seed)
    return avalanche(h & M64)


def hash_to_240(data: bytes, length: int, seed: int) -> int:
    h = length * P64_1
    for i in range(8):
        h += mix16(data, i * 16, i * 16, seed)
    h = avalanche(h & M64)
    for i in range(8, length // 16):
        h += mix16(data, i * 16, (i - 8) * 16 + 3, seed)
    return avalanche(h + mix16(data, length - 16, 136 - 17, seed) & M64)


def seeded_secret(seed: int) -> bytes:
    if seed == 0:
        return SECRET
    words = struct.unpack("<24Q", SECRET)
    return struct.pack("<24Q", *((w - seed if i % 2 else w + seed) & M64 for i, w in enumerate(words)))


def accumulate(acc: list[int], words: tuple[int, ...], keys: tuple[int, ...]) -> None:
    for i in range(8):
        word = words[i]
        keyed = word ^ keys[i]
        acc[i ^ 1] += word
        acc[i] = acc[i] + (keyed & 0xFFFFFFFF) * (keyed >> 32) & M64


def hash_long(data: bytes, length: int, seed: int) -> int:
    secret = seeded_secret(seed)
    keys = [struct.unpack_from("<8Q", secret, 8 * i) for i in range(STRIPES_A_BLOCK)]
    scramble = struct.unpack_from("<8Q", secret, len(secret) - STRIPE)
    acc = [P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1]
    for stripe in range((length - 1) // STRIPE):
        accumulate(acc, struct.unpack_from("<8Q", data, stripe * STRIPE), keys[stripe % STRIPES_A_BLOCK])
        if stripe % STRIPES_A_BLOCK == STRIPES_A_BLOCK - 1:
            for i in range(8):
                lane = acc[i] & M64
                acc[i] = (lane ^ lane >> 47 ^ scramble[i]) * P32_1 & M64
    last = struct.unpack_from("<8Q", secret, len(secret) - STRIPE - 7)
    accumulate(acc, struct.unpack_from("<8Q", data, length - STRIPE), last)
    merge = struct.unpack_from("<8Q", secret, 11)
    h = length * P64_1
    for i in range(0, 8, 2):
        h += fold((acc[i] & M64) ^ merge[i], (acc[i + 1] & M64) ^ merge[i + 1])
    return avalanche(h & M64)
