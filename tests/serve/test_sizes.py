"""Sizes for people: `pg_size_pretty` has PostgreSQL's units and rounding."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.support.tooling import USERS, shop
from tests.testbed.postgres import Cluster

BIGGEST = 2**63 - 1
#: PostgreSQL 15 has no absolute value of this one: it says it in bytes.
SMALLEST = -(2**63)


def sizes() -> list[int]:
    """Both sides of each limit and of each half of a unit, and others of each length."""
    chance = random.Random(7)
    found = {0, 1, 9_999, 10_239, 10_240, BIGGEST}
    for bits in range(0, 63, 10):
        for count in (1, 9.5, 10, 10.5, 511.5, 1024, 10_239, 10_239.5, 10_240, 10_240.5, 20_479):
            found |= {int(count * 2**bits) + off for off in (-513, -512, -511, -1, 0, 1, 511, 512, 513)}
    found |= {chance.getrandbits(bits) for bits in range(1, 64) for _ in range(20)}
    kept = [size for size in found if 0 <= size <= BIGGEST]
    return sorted({*kept, *(-size for size in kept)})


@pytest.mark.parametrize("user", USERS)
def test_sizes_are_postgresqls(tmp_path: Path, stock: Cluster, user: str) -> None:
    numbers = sizes()
    beyond = ["0.5", "-10239.99", "10240.99", "-10751.9", "123456789012345678901234567890.5", str(SMALLEST)]
    queries = [f"SELECT pg_size_pretty(n) FROM (VALUES {', '.join(f'({n}::bigint)' for n in numbers)}) v(n)"]
    queries += [f"SELECT pg_size_pretty('{n}'::numeric(38, {len(n.partition('.')[2])}))" for n in beyond]
    queries += ["SELECT pg_size_pretty(NULL::bigint)", "SELECT pg_catalog.pg_size_pretty(12345::bigint)"]
    with shop(tmp_path) as running, running.connect(user) as ours, stock.connect() as theirs:
        for query in queries:
            expected = theirs.execute(query.encode()).fetchall()
            got = ours.execute(query.encode()).fetchall()
            different = [pair for pair in zip(got, expected, strict=True) if pair[0] != pair[1]]
            assert different == [], query[:100]
        assert ours.execute(f"SELECT pg_size_pretty(({SMALLEST})::bigint)".encode()).fetchall() == [("-8192 PB",)]
